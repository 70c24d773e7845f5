/** Host patterns of a configuration: `example.com`, `*.example.com` (any subdomain), `example.com:8443`, `[2001:db8::1]`. */

export interface HostPattern {
  /** Normalised by `URL`; for `*.example.com` the part after the star. */
  readonly host: string
  readonly isSuffix: boolean
  /** Absent: the pattern has no port. */
  readonly port?: number
}

export function parseHost(text: string): HostPattern {
  const [, star, name = '', port] = /^(\*\.)?(.*?)(?::(\d+))?$/.exec(text) ?? []
  const host = URL.canParse(`http://${name}/`) ? new URL(`http://${name}/`).hostname : name.toLowerCase()
  return { host: withoutDot(host), isSuffix: star !== undefined, ...(port !== undefined && { port: Number(port) }) }
}

/** True when an address matches one of the patterns; a pattern without a port matches every port. */
export function matchesAnyHost(patterns: readonly HostPattern[], url: URL): boolean {
  return patterns.some((pattern) => fitsName(pattern, url) && (pattern.port === undefined || pattern.port === portOf(url)))
}

/**
 * True when secrets may be sent to an address. A pattern without a port matches only https on port 443: otherwise the author of the
 * address could have a secret sent in clear text, or to another server on the same machine.
 */
export function maySendSecrets(pattern: HostPattern, url: URL): boolean {
  if (!fitsName(pattern, url)) return false
  const { port = 443 } = pattern
  return port === portOf(url) && (url.protocol === 'https:' || port !== 443)
}

function fitsName({ host, isSuffix }: HostPattern, url: URL): boolean {
  const name = withoutDot(url.hostname)
  return isSuffix ? name.endsWith(`.${host}`) : name === host
}

function withoutDot(host: string): string {
  return host.replace(/\.$/, '')
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}
