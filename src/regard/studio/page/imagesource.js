// Images to look at: files that are chosen or dropped, and validation images of the run.

import * as api from "./api.js";
import { h, replace } from "./dom.js";
import { canvasOf } from "./pixels.js";

/** The upper part of a view of images. `take(image)` gets a file as the model sees it, `choose(at)`
 * the number of the validation image that was clicked, `fail(sentence)` what is wrong with a file.
 */
export class ImageSource {
  constructor({ run, take, choose, fail, several = false }) {
    this.listeners = { run, take, choose, fail };
    this.samples = null; // {size, channels, samples: [{place, pixels, label, texts, name}]}
    this.file = h("input", {
      type: "file",
      accept: "image/*",
      multiple: several,
      class: "file-input",
      "aria-label": several ? "Choose images" : "Choose an image",
      on: { change: () => this.read([...this.file.files]) },
    });
    this.strip = h("div", { class: "samples" });
    this.element = h(
      "div",
      {},
      h(
        "div",
        { class: "image-source" },
        h("label", { class: "choose" }, this.file, h("span", {}, several ? "Choose images" : "Choose an image")),
        h("span", { class: "muted small" }, "or drop one here, or take one that the model has not learned from:"),
      ),
      this.strip,
    );
  }

  /** The listeners of the view that images can be dropped on. */
  drops(root) {
    return {
      dragover: (event) => {
        event.preventDefault();
        root().classList.add("dropping");
      },
      dragleave: () => root().classList.remove("dropping"),
      drop: (event) => {
        event.preventDefault();
        root().classList.remove("dropping");
        this.read([...event.dataTransfer.files]);
      },
    };
  }

  async read(files) {
    for (const file of files) {
      try {
        const found = await api.square(this.listeners.run(), file);
        this.listeners.take({ ...found, label: "", name: `${file.name} ${Date.now()}`, title: file.name });
      } catch (error) {
        this.listeners.fail(error.message);
      }
    }
    this.file.value = "";
  }

  /** Ask for the validation images of a run; true if they are still wanted when they come. */
  async load(run) {
    this.samples = null;
    replace(this.strip);
    const wanted = (this.wanted = {});
    const found = await api.ask("image_samples", { run });
    if (wanted !== this.wanted) return false;
    this.samples = found;
    replace(
      this.strip,
      found.samples.map((each, at) =>
        h(
          "button",
          {
            type: "button",
            class: "sample",
            title: `${each.name}: ${each.label}`,
            "aria-label": `Image ${at + 1}: ${each.label}`,
            on: { click: () => this.listeners.choose(at) },
          },
          canvasOf(each.pixels, found),
          h("span", {}, each.label),
        ),
      ),
    );
    return true;
  }

  /** A validation image, as `take` gets others; null if there is none. */
  sample(at) {
    const found = this.samples?.samples[at];
    return found ? { ...found, size: this.samples.size, channels: this.samples.channels } : null;
  }

  /** Show which of them are chosen. */
  mark(chosen) {
    [...this.strip.children].forEach((each, at) => each.setAttribute("aria-pressed", String(chosen.includes(at))));
  }
}
