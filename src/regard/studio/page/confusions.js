// The worst confusions of a matcher among validation images and their texts.

import * as api from "./api.js";
import { button, h, replace } from "./dom.js";
import { canvasOf } from "./pixels.js";

/** A section that looks for them when it is asked to. `compare(images, texts)` hears which pair is
 * to be looked at.
 */
export function confusionList(compare) {
  const list = h("div", { class: "confusions", "aria-live": "polite" });
  const element = h("section", { class: "others" }, h("h3", {}, "Worst confusions"), list);
  let of = "";

  function offer(run, step, key) {
    if (key === of) return;
    of = key;
    replace(
      list,
      h("p", { class: "muted small" }, "Among validation images, which text or image fits better than the right one?"),
      button("Look for them", () => look(run, step, key)),
    );
  }

  async function look(run, step, key) {
    replace(list, h("p", { class: "muted" }, "Comparing all with all …"));
    try {
      const found = await api.ask("confusions", { run, step });
      const sides = found.to_images.flatMap((each) => [each.right_image, each.wrong_image]);
      const places = [...new Set([...found.to_texts.map((each) => each.image), ...sides])];
      const images = new Map();
      for (let at = 0; at < places.length; at += MOST) {
        const wanted = places.slice(at, at + MOST);
        const { samples, ...sizes } = await api.ask("image_samples", { run, places: wanted });
        samples.forEach((each) => images.set(each.place, { ...each, ...sizes }));
      }
      if (key === of) draw(found, images);
    } catch (error) {
      if (key === of) replace(list, h("p", { class: "problem" }, error.message));
    }
  }

  function draw(found, images) {
    const small = (place) => canvasOf(images.get(place).pixels, images.get(place));
    replace(
      list,
      h(
        "p",
        { class: "muted small" },
        `Among ${found.images} images and ${found.texts} texts. In brackets: the similarity. A click compares them.`,
      ),
      !found.to_texts.length && !found.to_images.length && h("p", {}, "Nothing is confused."),
      h(
        "ol",
        { class: "confusion-list" },
        found.to_texts.map((each) =>
          entry(
            () => compare([each.image], [each.right_text, each.wrong_text]),
            [small(each.image)],
            ["its text", each.right_text, each.right],
            ["fits better", each.wrong_text, each.wrong],
          ),
        ),
        found.to_images.map((each) =>
          entry(
            () => compare([each.right_image, each.wrong_image], [each.text]),
            [small(each.right_image), small(each.wrong_image)],
            ["text", each.text],
            ["left: its image", "", each.right],
            ["right: fits better", "", each.wrong],
          ),
        ),
      ),
    );
  }

  return { element, offer };
}

// Images that are asked for at once.
const MOST = 16;

function entry(click, pictures, ...lines) {
  return h(
    "li",
    {},
    h(
      "button",
      { type: "button", class: "confusion", on: { click } },
      h("span", { class: "pictures" }, pictures),
      h(
        "span",
        { class: "lines" },
        lines.map(([name, text, similarity]) =>
          h(
            "span",
            { dir: "auto" },
            h("span", { class: "muted small" }, `${name} `),
            text,
            similarity !== undefined && h("span", { class: "muted small" }, ` (${similarity.toFixed(2)})`),
          ),
        ),
      ),
    ),
  );
}
