import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { Agent, Response } from 'undici'
import type { OutboundInit, Send } from './redirects.ts'
import ipaddr from 'ipaddr.js'

/**
 * The only access to addresses named by callers or models: the public Internet, and addresses that the operator allows.
 */
export interface GuardedFetch {
  /**
   * Like `fetch`. Each connection is checked when made, by its actual address, including redirects. Rejects with
   * `AddressRefused` as the cause.
   */
  fetch(url: string, init?: OutboundInit): Promise<Response>
  /** Fetches from an address that an administrator configured, at any place; redirects are checked like `fetch`. */
  fetchConfigured(url: string, init?: OutboundInit): Promise<Response>
  /** The reason for refusing a URL now, for the caller who named it; undefined when allowed. */
  refusalOf(url: string): Promise<string | undefined>
  close(): Promise<void>
}

export interface GuardedFetchOptions {
  /** OUTBOUND_ALLOW: hosts, `host:port` or CIDR blocks. */
  allowed: readonly string[]
  lookup?: Lookup
}

/** Like `dns.lookup` with `all`. */
export type Lookup = (
  host: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Thrown for an address that is neither public nor allowed. The message omits the address, which would reveal the
 * internal network.
 */
export class AddressRefused extends Error {
  readonly code = 'EREFUSED'

  constructor() {
    super('The address is not public.')
    this.name = 'AddressRefused'
  }
}

type Undici = typeof import('undici')

const connectMs = 10_000
const resolveMs = 5000

export function createGuardedFetch({ allowed, lookup = dnsLookup }: GuardedFetchOptions): GuardedFetch {
  const guard = createAddressGuard(allowed)
  let agent: Agent | undefined
  /** Connects to configured origins, without a check. */
  let plainAgent: Agent | undefined

  /** Proxies of the environment are ignored: this agent connects directly. */
  function createAgent({ Agent, buildConnector }: Undici): Agent {
    return new Agent({
      connect(options, callback) {
        const { host, port } = hostAndPort(options.hostname, options.protocol, options.port)
        // Node calls no lookup for a literal address.
        if (isIP(host) !== 0 && !isAllowed(guard, host, port, [host])) return callback(new AddressRefused(), null)
        const connect = buildConnector({ timeout: connectMs, allowH2: false, lookup: guardedLookup(guard, lookup, port) })
        connect(options, callback)
      },
    })
  }

  async function refusalOf(text: string): Promise<string | undefined> {
    // A NUL is invalid in a URL although the parser accepts it, and Postgres refuses it in text.
    const url = URL.canParse(text) && !text.includes('\0') ? new URL(text) : undefined
    if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') return 'must be an http or https address'
    const { host, port } = hostAndPort(url.hostname, url.protocol, url.port)
    const addresses = isIP(host) === 0 ? await resolve(lookup, host) : [host]
    // Unknown and internal names get the same reason, so that internal names are not revealed.
    const isFit = addresses.length > 0 && isAllowed(guard, host, port, addresses)
    return isFit ? undefined : 'must name a host with a public address'
  }

  const guarded: Send = async (url, init) => {
    const undici = await import('undici')
    agent ??= createAgent(undici)
    return undici.fetch(url, { ...init, dispatcher: agent })
  }

  /** Sends to an origin that an administrator configured; redirects to other origins are guarded. */
  const configured: Send = async (url, init, hasLeft) => {
    if (hasLeft) return guarded(url, init, hasLeft)
    const { Agent, fetch } = await import('undici')
    // An answer may take as long as the tool may: the caller's signal sets the limit.
    plainAgent ??= new Agent({ allowH2: false, headersTimeout: 0, bodyTimeout: 0 })
    return fetch(url, { ...init, dispatcher: plainAgent })
  }

  /** The code of redirects is imported on demand, with undici: a service that has sent no request starts without them. */
  async function follow(url: string, init: OutboundInit, send: Send): Promise<Response> {
    if (init.redirect === 'manual' && !init.headersFor && /^https?:\/\//.test(url)) return send(new URL(url), init, false)
    return (await import('./redirects.ts')).followRedirects(url, init, send)
  }

  return {
    fetch: (url, init = {}) => follow(url, init, guarded),
    fetchConfigured: (url, init = {}) => follow(url, init, configured),
    refusalOf,
    async close() {
      await Promise.all([agent?.destroy(), plainAgent?.destroy()])
    },
  }
}

/** A single internal address refuses the host: the connection may pick any of the addresses. */
function isAllowed(guard: AddressGuard, host: string, port: number, addresses: readonly string[]): boolean {
  return guard.allowsHost(host, port) || addresses.every((address) => guard.allowsAddress(address, port))
}

/**
 * The connection uses exactly the checked addresses: the name cannot change its meaning between check and connection.
 */
function guardedLookup(guard: AddressGuard, lookup: Lookup, port: number): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, resolved) => {
      if (error) return done(error, '')
      const [first] = resolved
      if (!first) return done(Object.assign(new Error('The host has no address.'), { code: 'ENOTFOUND' }), '')
      const addresses = resolved.map(({ address }) => address)
      if (!isAllowed(guard, host, port, addresses)) return done(new AddressRefused(), '')
      if (options.all) done(null, resolved)
      else done(null, first.address, first.family)
    })
  }
}

/** Resolves a host; empty when there is no address or no answer in time. */
async function resolve(lookup: Lookup, host: string): Promise<string[]> {
  return new Promise((answer) => {
    const timer = setTimeout(() => answer([]), resolveMs)
    lookup(host, { all: true }, (error, resolved) => {
      clearTimeout(timer)
      answer(error ? [] : resolved.map(({ address }) => address))
    })
  })
}

function hostAndPort(hostname: string, protocol: string, port: string): { host: string; port: number } {
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
}

/** Decides which addresses named by callers or models may be reached. */
export interface AddressGuard {
  /** True when a host may be reached at any address. */
  allowsHost(host: string, port: number): boolean
  /** True when an address is public or allowed. */
  allowsAddress(address: string, port: number): boolean
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Public-looking addresses inside of clouds: Azure's agent, which issues certificates. */
const insideOfClouds = new Set(['168.63.129.16'])

/** The whole public Internet (RFC 4291, 2.4); other blocks hold old forms that map to IPv4. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** `allowed`: hosts, `host:port`, addresses, `address:port` or CIDR blocks, in lower case. */
export function createAddressGuard(allowed: readonly string[]): AddressGuard {
  const rules = allowed.map(toRule)
  return {
    allowsHost: (host, port) => {
      const name = host.toLowerCase().replace(/\.$/, '')
      return rules.some((rule) => rule.host === name && (rule.port ?? port) === port)
    },
    allowsAddress(text, port) {
      if (isIP(text) === 0) return false
      // IPv4-mapped IPv6 becomes IPv4.
      const address = ipaddr.process(text)
      return isPublic(address) || rules.some((rule) => rule.block && (rule.port ?? port) === port && isInside(address, rule.block))
    },
  }
}

interface Rule {
  host?: string
  block?: [Address, number]
  port: number | undefined
}

function toRule(entry: string): Rule {
  if (entry.includes('/')) return { block: ipaddr.parseCIDR(entry), port: undefined }
  const [, bracketed, name, port] = isIP(entry) ? [] : (/^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? [])
  const host = (bracketed ?? name ?? entry).replace(/\.$/, '')
  const number = port === undefined ? undefined : Number(port)
  if (isIP(host) === 0) return { host, port: number }
  const address = ipaddr.process(host)
  return { block: [address, address.kind() === 'ipv4' ? 32 : 128], port: number }
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || insideOfClouds.has(address.toString())) return false
  return address.kind() === 'ipv4' || isInside(address, globalUnicast)
}

function isInside(address: Address, [block, bits]: [Address, number]): boolean {
  return address.kind() === block.kind() && address.match([block, bits] as never)
}
