// The leaderboard's controls: categories hide rows and points, words filter rows, headings sort.

function draw() {
  drawSections(currentLook());
}

// A row stays when its category is shown and each word is somewhere in it.
function showRows() {
  const words = document.getElementById("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  for (const row of table.tBodies[0].rows) {
    const content = row.textContent.toLowerCase();
    row.hidden = hiddenGroups.has(row.dataset.category) || !words.every((word) => content.includes(word));
    left += !row.hidden;
  }
  document.getElementById("status").textContent = `${left} model${left === 1 ? "" : "s"}`;
}

onAll("[data-group]", "click", (button) => { toggleGroup(button.dataset.group); showRows(); });
onAll("#filter", "input", showRows);
onAll("#table th button", "click", (button) => sortBy(button.parentNode));
onAll("#theme", "click", toggleTheme);
dark.addEventListener("change", draw);
draw();
