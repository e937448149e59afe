// Places for dates on an axis. Times come as texts in the time of the place, like
// 2024-03-31 03:00+02:00 or 2024-03-31; a table without times has numbers.

import { ticks } from "./curves.js";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const FORM = /^(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d)(?::(\d\d))?)?/;

function parts(text) {
  const found = FORM.exec(text);
  return found && found.slice(1).map((each) => Number(each ?? 0));
}

/** The number of a unit that a time is in, and so a new one where it changes. */
const days = ([year, month, day]) => Math.floor(Date.UTC(year, month - 1, day) / 86_400_000);
const UNITS = [
  ...[1, 5, 15, 30].map((each) => (time) => (days(time) * 1440 + time[3] * 60 + time[4]) / each),
  ...[1, 3, 6, 12].map((each) => (time) => (days(time) * 24 + time[3]) / each),
  days,
  (time) => days(time) / 2,
  (time) => (days(time) + 3) / 7, // weeks begin on Monday
  ...[1, 3, 6].map((each) => ([year, month]) => (12 * year + month - 1) / each),
  ...[1, 2, 5, 10].map((each) => ([year]) => year / each),
];

/** At most `most` places of an axis, [[place, label], …]: where a day, a week, a month, … begins. */
export function dateTicks(times, most) {
  const found = times.map(parts);
  if (!found.every(Boolean)) {
    const count = Math.max(1, times.length - 1);
    return ticks(0, count, most)
      .filter((at) => Number.isInteger(at) && at < times.length)
      .map((at) => [at, times[at]]);
  }
  for (const unit of UNITS) {
    const places = [];
    for (let at = 1; at < found.length && places.length <= most; at += 1) {
      if (Math.floor(unit(found[at])) !== Math.floor(unit(found[at - 1]))) places.push(at);
    }
    if (places.length && places.length <= most) return places.map((at) => [at, named(found, places, at)]);
  }
  return [[0, times[0].slice(0, 10)]];
}

/** The name of a place: as much of its date as the places beside it do not share. */
function named(found, places, at) {
  const [year, month, day, hour, minute] = found[at];
  const first = at === places[0];
  const starts = hour === 0 && minute === 0;
  const several = (from) => new Set(places.map((each) => found[each].slice(0, from).join())).size === places.length;
  if (several(1)) return String(year);
  if (several(2) && places.every((each) => found[each][2] === 1)) return `${MONTHS[month - 1]} ${year}`;
  const date = `${MONTHS[month - 1]} ${day}`;
  if (several(3)) return first ? `${date}, ${year}` : date;
  const clock = `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
  return starts || first ? `${date}${starts ? "" : ` ${clock}`}` : clock;
}
