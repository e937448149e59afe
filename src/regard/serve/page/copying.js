// Buttons that copy the text of an element.

/** Make every `.copy` button inside an element copy what its `data-copies` names. */
export function copyButtons(inside) {
  for (const button of inside.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const element = document.getElementById(button.dataset.copies);
      try {
        await navigator.clipboard.writeText(element.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(element);
        button.textContent = "Selected: copy it with the keyboard";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
  }
}
