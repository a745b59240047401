// Opens the app for who has the token of the link. It is kept for this tab and this port, and goes to this server only, in
// a header. The page is written into this window, so its scripts have `askServer`.
"use strict";

const TOKEN = "rag-evaluator-token";
const OTHER_TABS = 300; // milliseconds for an answer of another tab
const tokenTabs = new BroadcastChannel(TOKEN);

/** The answer of this server to a request with the token. */
function askServer(address, options = {}) {
  const headers = { ...options.headers, authorization: `Bearer ${sessionStorage.getItem(TOKEN) ?? ""}` };
  return fetch(address, { mode: "same-origin", credentials: "omit", ...options, headers });
}

/** A new tab asks for the token; where a new link was opened, all tabs go on with its token. */
tokenTabs.onmessage = ({ data }) => {
  const known = sessionStorage.getItem(TOKEN);
  if (data.asks && known) tokenTabs.postMessage({ answers: known });
  else if (data.entered || (data.answers && !known)) sessionStorage.setItem(TOKEN, data.entered ?? data.answers);
};

async function askTabs() {
  tokenTabs.postMessage({ asks: true });
  const end = Date.now() + OTHER_TABS;
  while (!sessionStorage.getItem(TOKEN) && Date.now() < end) await new Promise((done) => setTimeout(done, 10));
}

/** The token leaves the address. The new address is opened by this page, so that a link on another site works, too. */
function enter(address, token) {
  sessionStorage.setItem(TOKEN, token);
  tokenTabs.postMessage({ entered: token });
  address.searchParams.delete("token");
  location.replace(address);
}

async function pageAt(address) {
  if (!sessionStorage.getItem(TOKEN)) await askTabs();
  const answer = await askServer(address);
  if (answer.status === 403) sessionStorage.removeItem(TOKEN); // of a server that has ended
  if (!answer.headers.get("content-type")?.startsWith("text/html")) throw new TypeError(answer.url);
  if (answer.redirected) history.replaceState(null, "", answer.url + location.hash);
  return answer.text();
}

async function openPage(noAnswer) {
  const address = new URL(location.href);
  const token = address.searchParams.get("token");
  if (token !== null) return enter(address, token);
  const html = await pageAt(address).catch(() => noAnswer);
  document.open();
  document.write(html);
  document.close();
}

openPage(document.currentScript.dataset.noAnswer);
