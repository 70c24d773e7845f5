import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, fetch, type Response } from 'undici'
import { createAddressGuard, type AddressGuard } from './address-guard.ts'
import { createConfiguredFetch } from './configured-fetch.ts'
import { followRedirects, type OutboundInit, type Send } from './redirects.ts'

/** The one way to addresses that callers or models name: nothing but the public Internet, and what the operator allows. */
export interface GuardedFetch {
  /**
   * Like `fetch`. Each connection is checked when it is made, on the address that it goes to, redirects included. Rejects with
   * `AddressRefused` as the cause.
   */
  fetch(url: string, init?: OutboundInit): Promise<Response>
  /** For an address that an administrator has configured, wherever it is; where it redirects to is checked as above. */
  fetchConfigured(url: string, init?: OutboundInit): Promise<Response>
  /** Why an address would be refused now, for who names it; undefined where it would not. */
  refusalOf(url: string): Promise<string | undefined>
  close(): Promise<void>
}

export interface GuardedFetchOptions {
  /** OUTBOUND_ALLOW: hosts, `host:port` or CIDR blocks. */
  allowed: readonly string[]
  lookup?: Lookup
}

/** As `dns.lookup` with `all`. */
export type Lookup = (
  host: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** An address that is not public, and that nobody allowed. Which one it is stays unsaid: it would tell of the network inside. */
export class AddressRefused extends Error {
  readonly code = 'EREFUSED'

  constructor() {
    super('The address is not public.')
    this.name = 'AddressRefused'
  }
}

const connectMs = 10_000
const resolveMs = 5000

export function createGuardedFetch({ allowed, lookup = dnsLookup }: GuardedFetchOptions): GuardedFetch {
  const guard = createAddressGuard(allowed)

  // No proxy of the environment comes in between: an agent of our own goes straight to the address.
  const agent = new Agent({
    connect(options, callback) {
      const { host, port } = placeOf(options.hostname, options.protocol, options.port)
      // Node asks no lookup for what is an address already.
      if (isIP(host) !== 0 && !isAllowed(guard, host, port, [host])) return callback(new AddressRefused(), null)
      const connect = buildConnector({ timeout: connectMs, allowH2: false, lookup: guardedLookup(guard, lookup, port) })
      connect(options, callback)
    },
  })

  async function refusalOf(text: string): Promise<string | undefined> {
    // A NUL is no part of an address, although it would be read as one, and no text of Postgres.
    const url = URL.canParse(text) && !text.includes('\0') ? new URL(text) : undefined
    if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') return 'must be an http or https address'
    const { host, port } = placeOf(url.hostname, url.protocol, url.port)
    const addresses = isIP(host) === 0 ? await resolve(lookup, host) : [host]
    // One answer for both: which names mean something inside is nobody's business.
    const isFit = addresses.length > 0 && isAllowed(guard, host, port, addresses)
    return isFit ? undefined : 'must name a host with a public address'
  }

  const guarded: Send = (url, init) => fetch(url, { ...init, dispatcher: agent })
  const configured = createConfiguredFetch(guarded)
  return {
    fetch: (url, init = {}) => followRedirects(url, init, guarded),
    fetchConfigured: configured.fetch,
    refusalOf,
    async close() {
      await Promise.all([agent.destroy(), configured.close()])
    },
  }
}

/** One address inside is enough to refuse them all: which of them a connection takes is not ours to say. */
function isAllowed(guard: AddressGuard, host: string, port: number, addresses: readonly string[]): boolean {
  return guard.allowsHost(host, port) || addresses.every((address) => guard.allowsAddress(address, port))
}

/** What it answers with is what is connected to: a name can't mean another address between the check and the connection. */
function guardedLookup(guard: AddressGuard, lookup: Lookup, port: number): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '')
      const [first] = found
      if (!first) return done(Object.assign(new Error('The host has no address.'), { code: 'ENOTFOUND' }), '')
      const addresses = found.map(({ address }) => address)
      if (!isAllowed(guard, host, port, addresses)) return done(new AddressRefused(), '')
      if (options.all) done(null, found)
      else done(null, first.address, first.family)
    })
  }
}

/** Empty where the host has no address, or none is found in time. */
async function resolve(lookup: Lookup, host: string): Promise<string[]> {
  return new Promise((answer) => {
    const timer = setTimeout(() => answer([]), resolveMs)
    lookup(host, { all: true }, (error, found) => {
      clearTimeout(timer)
      answer(error ? [] : found.map(({ address }) => address))
    })
  })
}

function placeOf(hostname: string, protocol: string, port: string): { host: string; port: number } {
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
}
