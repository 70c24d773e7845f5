/** Path of the console without its trailing slash, such as `/agents/console`; from the page's `<base>`. */
export const consolePath = new URL(document.baseURI).pathname.replace(/\/$/, '')

/** Address of the service, with its prefix and a trailing slash. */
export const serviceAddress = new URL('..', document.baseURI).href

/** Address of a path of the service: `serviceUrl('core/v1/me')`. */
export function serviceUrl(path: string): string {
  return new URL(path, serviceAddress).href
}
