// The views, in the order of the tabs: [name, title, function that makes one].

import { alignment } from "./views/alignment.js";
import { blocks } from "./views/blocks.js";
import { beam } from "./views/beam.js";
import { caption } from "./views/caption.js";
import { compare } from "./views/compare.js";
import { heads } from "./views/heads.js";
import { image } from "./views/image.js";
import { map } from "./views/map.js";
import { match } from "./views/match.js";
import { model } from "./views/model.js";
import { numbers } from "./views/numbers.js";
import { positions } from "./views/positions.js";
import { series } from "./views/series.js";
import { text } from "./views/text.js";
import { training } from "./views/training.js";
import { translate } from "./views/translate.js";

export const VIEWS = [
  ["translate", "Translate", translate],
  ["text", "Text", text],
  ["image", "Image", image],
  ["caption", "Caption", caption],
  ["match", "Match", match],
  ["series", "Series", series],
  ["model", "Model", model],
  ["alignment", "Alignment", alignment],
  ["heads", "Heads", heads],
  ["numbers", "Numbers", numbers],
  ["beam", "Beam", beam],
  ["map", "Map", map],
  ["training", "Training", training],
  ["positions", "Positions", positions],
  ["compare", "Compare", compare],
  ["blocks", "Blocks", blocks],
];
