/**
 * The page to try routes: Swagger UI with our own frame and an input for the key. Swagger UI sets styles by script, which the policy permits
 * without further rights.
 */

/** The icon of the console, which is built apart. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#3f58d6"/><circle cx="16" cy="16" r="4.5" fill="#fff"/><path d="M16 5.5a10.5 10.5 0 0 1 10.5 10.5M16 26.5A10.5 10.5 0 0 1 5.500 16" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/></svg>'

/** Returns the page for a path prefix, which is checked. */
export function renderApiPage(prefix: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<base href="${prefix}/docs/api/">
<title>Agent Core API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<link rel="stylesheet" href="static/swagger-ui.css">
<link rel="stylesheet" href="static/page.css">
</head>
<body>
<header>
<strong>Agent Core API</strong>
<nav><a href="../">Documentation</a> <a href="../../console/">Console</a> <a href="../../openapi.json">openapi.json</a></nav>
<form id="key-form">
<label for="key">Access key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="from .agent-core/admin.key">
<button>Use key</button>
<output id="key-state" for="key"></output>
</form>
</header>
<main id="swagger-ui"></main>
<script src="static/swagger-ui-bundle.js"></script>
<script src="static/page.js"></script>
</body>
</html>
`
}

/** The key stays in the storage of the tab, which other tabs and later visits cannot read. */
export const pageScript = `'use strict'
const storedAs = 'agent-core-key'
const form = document.getElementById('key-form')
const input = document.getElementById('key')
const state = document.getElementById('key-state')
const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const showScheme = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
prefersDark.addEventListener('change', showScheme)
showScheme()

const ui = SwaggerUIBundle({
  url: new URL('../../openapi.json', document.baseURI).href,
  dom_id: '#swagger-ui',
  layout: 'BaseLayout',
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  displayRequestDuration: true,
  filter: true,
  // Sixty operations take browsers a second to draw.
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  // The default is a foreign host, which would learn the address of this service.
  validatorUrl: null,
  onComplete: () => {
    useKey(sessionStorage.getItem(storedAs) ?? '')
    if (location.hash === '') ui.layoutActions.show(['operations-tag', 'Chat'], true)
  },
})

function useKey(key) {
  if (key === '') {
    if (sessionStorage.getItem(storedAs)) ui.authActions.logout(['key'])
    sessionStorage.removeItem(storedAs)
  } else {
    ui.preauthorizeApiKey('key', key)
    sessionStorage.setItem(storedAs, key)
  }
  state.textContent = key === '' ? 'Requests have no key.' : 'The key is used in this tab.'
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  useKey(input.value.trim())
  input.value = ''
})
`

export const pageStyle = `body { margin: 0; background: #fff; }
header, #swagger-ui, #swagger-ui .info .title, #swagger-ui .opblock-tag, #swagger-ui .opblock .opblock-summary-description {
  font-family: system-ui, -apple-system, 'Segoe UI', sans-serif;
}
header {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.5rem 1.5rem;
  padding: 0.75rem 1.5rem;
  border-bottom: 1px solid #d3d8e0;
  background: #f7f8fa;
  color: #1d2129;
  font-size: 0.875rem;
}
header a { margin-right: 0.75rem; color: #3449b8; }
#key-form { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; margin-left: auto; }
#key-form input { width: 18rem; max-width: 60vw; padding: 0.35rem 0.5rem; border: 1px solid #737c8c; border-radius: 4px; font: inherit; }
#key-form button { padding: 0.35rem 0.9rem; border: 0; border-radius: 4px; background: #3f58d6; color: #fff; font: inherit; cursor: pointer; }
#swagger-ui .scheme-container { display: none; }
.dark-mode body { background: #1b1b1f; }
.dark-mode header { background: #202127; border-color: #3c3f44; color: #dfdfd6; }
.dark-mode header a { color: #9aaaf1; }
.dark-mode #key-form input { background: #1b1b1f; color: #dfdfd6; }
`
