// The views, in the order of the tabs: [name, title, function that makes one].

import { alignment } from "./views/alignment.js";
import { training } from "./views/training.js";
import { translate } from "./views/translate.js";

export const VIEWS = [
  ["translate", "Translate", translate],
  ["alignment", "Alignment", alignment],
  ["training", "Training", training],
];
