import { isIP } from 'node:net'
import type { Environment } from '../configuration/references.ts'
import type { VariableName } from './variables.ts'

/** Reads single variables. An invalid value adds a line to `problems`, and the result is then undefined or the fallback. */
export type Reader = ReturnType<typeof readers>

const units: Readonly<Record<string, number>> = { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 }

export function readers(environment: Environment, problems: string[]) {
  const text = (name: VariableName): string | undefined => environment[name] || undefined

  const refuse = (name: VariableName, value: string, rule: string) => {
    problems.push(`${name} must be ${rule}, but is ${JSON.stringify(value)}.`)
  }

  function checked(name: VariableName, fits: (value: string) => boolean, rule: string): string | undefined {
    const value = text(name)
    if (value === undefined || fits(value)) return value
    refuse(name, value, rule)
    return undefined
  }

  /** Like `checked`, for addresses other than http(s): the problem hides user and query. */
  function location(name: VariableName, fits: (value: string) => boolean, rule: string): string | undefined {
    const value = text(name)
    if (value === undefined || fits(value)) return value
    refuse(name, hideSecrets(value), rule)
    return undefined
  }

  /** Like `checked`, but the problem never shows the value. */
  function secret(name: VariableName, fits: (value: string) => boolean, rule: string): string | undefined {
    const value = text(name)
    if (value === undefined || fits(value)) return value
    problems.push(`${name} is not ${rule}.`)
    return undefined
  }

  function oneOf<T extends string>(name: VariableName, choices: readonly T[]): T | undefined {
    return checked(name, (value) => (choices as readonly string[]).includes(value), list(choices, 'or')) as T | undefined
  }

  function integer(name: VariableName, { fallback, min, max }: { fallback: number; min: number; max: number }): number {
    const fits = (value: string) => /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max
    return Number(checked(name, fits, `a whole number from ${min} to ${max}`) ?? fallback)
  }

  function size(name: VariableName, { fallback, max }: { fallback: number; max: number }): number {
    const fits = (value: string) => isBetween(toBytes(value), 1, max)
    const value = checked(name, fits, `a size up to ${max / units['mb']!}mb, like 64mb, 10kb or 4096 (bytes)`)
    return (value === undefined ? undefined : toBytes(value)) ?? fallback
  }

  /** An http(s) address. User and query may hold secrets: the problem hides them, and an address with a user is refused. */
  function address(name: VariableName, { query = false } = {}): string | undefined {
    const value = text(name)
    if (value === undefined) return undefined
    const url = URL.canParse(value) ? new URL(value) : undefined
    const plain = url && !url.username && !url.password && (query || !url.search) && !url.hash
    if (plain && /^https?:$/.test(url.protocol) && /^https?:\/\//i.test(value)) return value
    refuse(name, hideSecrets(value), `an http:// or https:// address without user${query ? '' : ', query'} and fragment`)
    return undefined
  }

  /** Items separated by commas or spaces. */
  function listOf(name: VariableName, fits: (item: string) => boolean, rule: string): string[] {
    const items = (text(name) ?? '').split(/[\s,]+/).filter((item) => item !== '')
    for (const item of items.filter((item) => !fits(item))) {
      problems.push(`${name} must be ${rule}, separated by commas, but has ${JSON.stringify(hideSecrets(item))}.`)
    }
    return items.filter(fits)
  }

  return { text, checked, location, secret, oneOf, integer, size, address, list: listOf }
}

/** `a, b and c` */
export function list(words: readonly string[], last = 'and'): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`
}

function toBytes(value: string): number | undefined {
  const [, digits, unit] = /^(\d{1,12}) ?(b|kb|mb|gb)?$/i.exec(value) ?? []
  return digits === undefined ? undefined : Number(digits) * units[(unit ?? '').toLowerCase()]!
}

function isBetween(value: number | undefined, min: number, max: number): boolean {
  return value !== undefined && value >= min && value <= max
}

/** Hides user and query. Works on text that no URL parser accepts: from the scheme to the last `@`, and from the first `?` or `#`. */
function hideSecrets(value: string): string {
  return value.replace(/[?#].*$/s, (rest) => `${rest[0]}***`).replace(/^([a-z][a-z0-9+.-]*:)?(\/\/)?.*@/is, '$1$2***@')
}

/** A path that is safe as a prefix of addresses, in a cookie and in a page: 1 to 8 plain segments, without a slash at the end. */
export function isPathPrefix(path: string): boolean {
  return path.length <= maxPrefix && /^(\/[A-Za-z0-9._~-]+){1,8}$/.test(path) && !/\/\.{1,2}(\/|$)/.test(path)
}

const maxPrefix = 256

/** An origin as browsers write it: scheme, host and a port other than the default. Wildcards and `null` are none. */
export function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/.test(text)) return false
  return !/^https?:/.test(text) || URL.parse(text)?.origin === text
}

export function isHost(text: string): boolean {
  return isIP(text) !== 0 || isHostName(text)
}

/** A host, `host:port`, an IP address (IPv6 with a port in brackets) or a CIDR block. */
export function isOutboundTarget(text: string): boolean {
  const [, address, bits] = /^(.+)\/(\d{1,3})$/.exec(text) ?? []
  if (address !== undefined) {
    const version = isIP(address)
    return version !== 0 && Number(bits) <= (version === 4 ? 32 : 128)
  }
  if (isHost(text)) return true
  const [, bracketed, host, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  if (port !== undefined && !isBetween(Number(port), 1, 65_535)) return false
  return bracketed === undefined ? host !== undefined && isHost(host) : isIP(bracketed) === 6
}

function isHostName(text: string): boolean {
  const labels = text.replace(/\.$/, '').split('.')
  // A last label of digits alone belongs to an IPv4 address, and `isIP` has refused the text as such.
  return text.length <= 253 && labels.every((label) => /^(?!-)[A-Za-z0-9_-]{1,63}(?<!-)$/.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '')
}
