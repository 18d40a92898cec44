// The view in the address: what the reader chose, sorted, filtered and hid, so that a link shows the same again.
//
// `#section&costs.sort=-parameters&costs.hide=dimensions,image_size&costs.filter=vit&level=l5&backbones=pixels`: a part
// without "=" is the section that is scrolled to. Parts that the page does not know are ignored.

const usualChoices = {}; // as when the page was loaded
const lists = { backbones: "backbones", groups: "groups" };

function encoded(names) {
  return names.map((name) => encodeURIComponent(name).replaceAll(",", "%2C")).join(",");
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

// The section of the address, and its other parts as a map from names to undecoded values.
function viewInAddress() {
  const parts = location.hash.slice(1).split("&").filter(Boolean);
  const pairs = parts.filter((part) => part.includes("=")).map((part) => {
    const at = part.indexOf("=");
    return [decoded(part.slice(0, at)), part.slice(at + 1)];
  });
  return { anchor: parts.find((part) => !part.includes("=")) ?? "", view: new Map(pairs) };
}

// What differs from the page as it was loaded.
function viewNow() {
  const found = [];
  for (const [name, value] of Object.entries(choices)) {
    if (value !== usualChoices[name]) found.push([name, encoded([value])]);
  }
  for (const [name, set] of Object.entries(lists)) {
    if (hidden[set].size) found.push([name, encoded([...hidden[set]])]);
  }
  if (followed.size) found.push(["follow", encoded([...followed])]);
  for (const table of document.querySelectorAll("table[id]")) {
    const name = table.id.slice("table-".length);
    const { column, ascending } = sortOf(table);
    if (column >= 0) found.push([`${name}.sort`, (ascending ? "" : "-") + encoded([columnKeys(table)[column]])]);
    const without = columnKeys(table).filter((_, place) => isHiddenColumn(table, place));
    if (without.length) found.push([`${name}.hide`, encoded(without)]);
    const filter = document.querySelector(`[data-filter="${CSS.escape(name)}"]`)?.value;
    if (filter) found.push([`${name}.filter`, encoded([filter])]);
  }
  return found.map(([name, value]) => `${encodeURIComponent(name)}=${value}`);
}

function keepView(anchor = viewInAddress().anchor) {
  const parts = [...(anchor ? [anchor] : []), ...viewNow()];
  const address = parts.length ? `#${parts.join("&")}` : location.pathname + location.search;
  if (parts.length || location.hash) history.replaceState(null, "", address);
}

function optionOf(name, value) {
  return [...document.querySelectorAll(`[data-choice="${CSS.escape(name)}"]`)].some((control) => (
    control.type === "radio" ? control.value === value && !control.disabled
      : [...control.options].some((option) => option.value === value)
  ));
}

function showTable(table, view) {
  const name = table.id.slice("table-".length), keys = columnKeys(table);
  const sort = view.get(`${name}.sort`) ?? "";
  const column = keys.indexOf(decoded(sort.replace(/^-/, "")));
  if (table.classList.contains("sortable")) sortRows(table, sort ? column : -1, !sort.startsWith("-"));
  const without = new Set((view.get(`${name}.hide`) ?? "").split(",").map(decoded));
  keys.forEach((key, place) => hideColumn(table, place, place > 0 && without.has(key)));
  const input = document.querySelector(`[data-filter="${CSS.escape(name)}"]`);
  const filter = decoded(view.get(`${name}.filter`) ?? "");
  if (input && input.value !== filter) {
    input.value = filter;
    say(input, counted(filterRows(name)));
  }
  const folded = table.closest("details");
  if (folded && [...view.keys()].some((key) => key.startsWith(`${name}.`))) folded.open = true;
}

// The whole view of the address, and nothing else: what it does not name is as it was when the page was loaded.
function showView() {
  const { anchor, view } = viewInAddress();
  for (const [name, usual] of Object.entries(usualChoices)) {
    const value = decoded(view.get(name) ?? "");
    choose(name, view.has(name) && optionOf(name, value) ? value : usual);
  }
  const known = (attribute) => new Set([...document.querySelectorAll(`[data-${attribute}]`)].map((each) => each.dataset[attribute]));
  const named = (key, attribute) => new Set((view.get(key) ?? "").split(",").map(decoded).filter((name) => known(attribute).has(name)));
  hidden.backbones = data.follow ? new Set() : named("backbones", "backbone");
  hidden.groups = named("groups", "group");
  followed.clear();
  if (data.follow) for (const name of named("follow", "backbone")) followed.add(name);
  for (const table of document.querySelectorAll("table[id]")) showTable(table, view);
  onAllNow("[data-filter]", (input) => filterRows(input.dataset.filter));
  mark();
  if (anchor && view.size) document.getElementById(decoded(anchor))?.scrollIntoView();
}

async function copyView(button) {
  keepView(button.closest("section")?.id);
  try {
    await navigator.clipboard.writeText(location.href).catch(() => copySelection(location.href));
    say(button, "copied the link to this view");
  } catch (error) {
    say(button, `not copied: ${error.message}`);
  }
}

// A link within the page names a section only; the rest of the view stays.
addEventListener("hashchange", () => {
  const { anchor, view } = viewInAddress();
  if (view.size) showView();
  else keepView(anchor);
});
