import { randomBytes } from 'node:crypto'

export interface RenderedPage {
  html: string
  /** Headers of the response, among them the policy that names the nonce of this page. */
  headers: Record<string, string>
}

/** Returns a function that writes the page for one response. `html` is the built `index.html`; `prefix` is a checked path prefix. */
export function createPageRenderer(html: string): (prefix: string) => RenderedPage {
  // The built page has both elements already, with values for the development server.
  const bare = html.replace(/<(?:base|meta (?:name|property)="csp-nonce")(?=[\s/>])[^<>]*>\s*/g, '')
  const head = /<head[^<>]*>/.exec(bare)
  const at = head ? head.index + head[0].length : 0
  const [before, after] = [bare.slice(0, at), bare.slice(at)]
  return (prefix) => {
    const nonce = randomBytes(16).toString('base64url')
    const added = `<base href="${prefix}/console/" /><meta name="csp-nonce" content="${nonce}" />`
    return { html: before + added + after, headers: { ...pageHeaders, 'content-security-policy': policy(nonce) } }
  }
}

/** `strict-transport-security` is for the proxy that ends TLS to decide. */
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Over plain http, browsers name the page of a read in no other header.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
}

/** Scripts come from files only. The nonce is for style elements that components add. */
function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' blob: data:",
    "connect-src 'self'",
    "font-src 'self'",
    'frame-src blob:',
    "frame-ancestors 'none'",
    "base-uri 'self'",
    "form-action 'self'",
  ].join('; ')
}

/** The answer to a browser where the console is not built. `message` is a text of this service. */
export function renderNotice(message: string): RenderedPage {
  const text = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const html = `<!doctype html>\n<html lang="en"><head><meta charset="utf-8" /><title>Agent Core</title></head><body><p>${text}</p></body></html>\n`
  return { html, headers: { ...pageHeaders, 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" } }
}
