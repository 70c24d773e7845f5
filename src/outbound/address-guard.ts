import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

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
      return rules.some((rule) => rule.host === name && fitsPort(rule, port))
    },
    allowsAddress(text, port) {
      const address = parse(text)
      if (!address) return false
      return isPublic(address) || rules.some((rule) => rule.block && fitsPort(rule, port) && isInside(address, rule.block))
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
  const address = parse(host)
  return address ? { block: [address, address.kind() === 'ipv4' ? 32 : 128], port: number } : { host, port: number }
}

function fitsPort(rule: Rule, port: number): boolean {
  return rule.port === undefined || rule.port === port
}

/** Parses an address; IPv4-mapped IPv6 becomes IPv4. */
function parse(text: string): Address | undefined {
  if (isIP(text) === 0) return undefined
  return ipaddr.process(text)
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || insideOfClouds.has(address.toString())) return false
  return address.kind() === 'ipv4' || isInside(address, globalUnicast)
}

function isInside(address: Address, [block, bits]: [Address, number]): boolean {
  return address.kind() === block.kind() && address.match([block, bits] as never)
}
