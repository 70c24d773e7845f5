/** Hosts as a configuration names them: `example.com`, `*.example.com` (any name under it), `example.com:8443`, `[2001:db8::1]`. */

export interface HostPattern {
  /** As a `URL` spells it; of `*.example.com` what is behind the star. */
  readonly host: string
  readonly isSuffix: boolean
  /** Absent: the pattern names none. */
  readonly port?: number
}

export function parseHost(text: string): HostPattern {
  const [, star, name = '', port] = /^(\*\.)?(.*?)(?::(\d+))?$/.exec(text) ?? []
  const host = URL.canParse(`http://${name}/`) ? new URL(`http://${name}/`).hostname : name.toLowerCase()
  return { host: withoutDot(host), isSuffix: star !== undefined, ...(port !== undefined && { port: Number(port) }) }
}

/** Whether an address may be gone to: a pattern without a port stands for all of them. */
export function matchesAnyHost(patterns: readonly HostPattern[], url: URL): boolean {
  return patterns.some((pattern) => fitsName(pattern, url) && (pattern.port === undefined || pattern.port === portOf(url)))
}

/**
 * Whether what is secret may be sent to an address: a pattern without a port stands for https at its own port alone. Else whoever
 * names the address could have it sent in the clear, or to another server on that machine.
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
