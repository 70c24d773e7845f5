import { randomBytes } from 'node:crypto'
import { pageHeaders, type RenderedPage } from '../server/pages.ts'

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
