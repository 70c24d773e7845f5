import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Which addresses may be reached that a caller or a model names. */
export interface AddressGuard {
  /** Whether a host may be reached whatever address it has. */
  allowsHost(host: string, port: number): boolean
  /** Whether an address may be reached: it is public, or allowed. */
  allowsAddress(address: string, port: number): boolean
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** What looks public but is the inside of a cloud: Azure's agent, which hands out certificates. */
const insideOfClouds = new Set(['168.63.129.16'])

/** All that is assigned to the public Internet (RFC 4291, 2.4); beyond are old forms that lead back to IPv4. */
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

function fitsPort({ port: wanted }: Rule, port: number): boolean {
  return wanted === undefined || wanted === port
}

/** An IPv4 address that is written as IPv6 is what it stands for. */
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
