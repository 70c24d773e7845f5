import { hostileHeaders, hostileTexts, hostileValues } from './values.ts'
import { bodyOf, type ServiceRequest } from './request.ts'

/** Random numbers from 0 to 1. */
export type Random = () => number

type Spoiler = (request: ServiceRequest, random: Random) => ServiceRequest | undefined

/** Returns the request with one or two spoiled parts; rarely unchanged, so that valid requests run between bad requests. */
export function spoil(request: ServiceRequest, random: Random): ServiceRequest {
  let spoiled = request
  const times = random() < 0.05 ? 0 : random() < 0.75 ? 1 : 2
  for (let done = 0, tries = 0; done < times && tries < 20; tries++) {
    const name = pick(partsOf(spoiled), random)
    const next = spoilers[name](spoiled, random)
    if (!next) continue
    spoiled = { ...next, spoiled: [...spoiled.spoiled, name] }
    done++
  }
  return spoiled
}

const spoilers = {
  path: (request: ServiceRequest, random: Random) => {
    const names = Object.keys(request.path)
    if (names.length === 0) return undefined
    return { ...request, path: { ...request.path, [pick(names, random)]: pick(hostileTexts, random) } }
  },
  query: (request: ServiceRequest, random: Random) => {
    const value = pick(hostileTexts, random)
    const known = request.query.map(([name]) => name)
    const name = random() < 0.7 ? pick([...known, ...commonParameters], random) : pick(hostileTexts, random)
    const rest = random() < 0.3 ? request.query : request.query.filter(([other]) => other !== name)
    return { ...request, query: [...rest, [name, value]] }
  },
  header: (request: ServiceRequest, random: Random) => {
    const [name, value] = pick(hostileHeaders, random)
    return { ...request, headers: { ...request.headers, [name]: value } }
  },
  method: (request: ServiceRequest, random: Random) => ({
    ...request,
    method: pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'], random),
  }),
  value: (request: ServiceRequest, random: Random) =>
    isContainer(request.json) ? { ...request, json: changeOne(request.json, random) } : undefined,
  text: (request: ServiceRequest, random: Random) => {
    const body = bodyOf(request)
    return body && { ...request, json: undefined, text: pick(textChanges, random)(body, random) }
  },
  'body added': (request: ServiceRequest, random: Random) =>
    bodyOf(request) === undefined
      ? {
          ...request,
          headers: { ...request.headers, 'content-type': 'application/json' },
          text: Buffer.from(JSON.stringify(pick(hostileValues, random)) ?? ''),
        }
      : undefined,
} satisfies Record<string, Spoiler>

const commonParameters = ['limit', 'before', 'after', 'offset', 'order', 'since', 'until', 'status', 'q', 'stream', 'format']

/** Parts to choose from; a part that has more places to spoil is there more often. */
function partsOf({ json, text, path }: ServiceRequest): (keyof typeof spoilers)[] {
  const all: (keyof typeof spoilers)[] = ['query', 'query', 'header', 'header', 'method', 'body added']
  if (Object.keys(path).length > 0) all.push('path', 'path', 'path')
  if (text !== undefined) all.push('text', 'text', 'text', 'text')
  if (json !== undefined) all.push('text', 'text', ...Array.from({ length: 12 }, () => 'value' as const))
  return all
}

/** Replaces, removes, adds or repeats at one random place of a value. */
function changeOne(value: object, random: Random): unknown {
  const copy = structuredClone(value)
  const places = placesOf(copy)
  const { holder, key } = pick(places, random)
  const how = random()
  if (how < 0.6) holder[key] = pick(hostileValues, random)
  else if (how < 0.75) delete holder[key]
  else if (how < 0.9) Object.defineProperty(holder, pick(hostileTexts, random), { value: pick(hostileValues, random), ...plain })
  else holder[key] = [holder[key], holder[key]]
  return copy
}

const plain = { enumerable: true, configurable: true, writable: true }

interface Place {
  holder: Record<string, unknown>
  key: string
}

function placesOf(value: object): Place[] {
  const holder = value as Record<string, unknown>
  const own = Object.keys(holder).map((key) => ({ holder, key }))
  const below = Object.values(holder).flatMap((inner) => (isContainer(inner) ? placesOf(inner) : []))
  return own.length === 0 ? [{ holder, key: 'added' }] : [...own, ...below]
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Changes of a body as bytes: what no JSON writer sends. */
const textChanges: ((body: Buffer, random: Random) => Buffer)[] = [
  () => Buffer.alloc(0),
  (body, random) => body.subarray(0, Math.floor(random() * body.length)),
  (body, random) => {
    const changed = Buffer.from(body)
    if (changed.length > 0) changed[Math.floor(random() * changed.length)] = Math.floor(random() * 256)
    return changed
  },
  (body) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]),
  (body) => Buffer.concat([body, body]),
  (body) => Buffer.from(body.toString('latin1'), 'utf16le'),
  (body) => Buffer.concat([Buffer.from('{"a":1,"a":2,'), body.subarray(1)]),
  () => Buffer.from('['.repeat(20_000)),
  () => Buffer.from(`{"a":${'{"a":'.repeat(5000)}1${'}'.repeat(5001)}`),
  () => Buffer.from('NaN'),
  () => Buffer.from('"text"'),
  () => Buffer.from('1e999'),
  () => Buffer.from([0xff, 0xfe, 0x00, 0xd8]),
  () => Buffer.alloc(300_000, 'a'),
]

export function pick<T>(values: readonly T[], random: Random): T {
  return values[Math.floor(random() * values.length)]!
}
