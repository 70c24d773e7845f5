import { isObject } from '../../json/is-object.ts'
import type { Api, FoundOperation, Operation, ReadOptions, Reading, SkippedOperation } from './api.ts'
import { findOperations, toOperation, type FoundOperations } from './operations.ts'
import { createReferences, type LoadedFile, type Observed, type ReferenceFault, type References } from './references.ts'
import { toSchemes } from './schemes.ts'
import { isWanted } from './selection.ts'
import { toPlainSwagger, upgradeSwagger, type PlainSwagger } from './swagger2.ts'

/** More tools than any model can choose from. */
const maxOperations = 1000
/** Of the JSON of one tool's schema, and of all of an entry. */
const maxSchema = 24_000
const maxSchemas = 8_000_000
const maxNamedTags = 40

/** Loads other files of a document: each by its address. */
export type LoadFiles = (hrefs: readonly string[]) => Promise<ReadonlyMap<string, LoadedFile>>

export interface ApiDocument {
  content: unknown
  /** Its own name, to which its references are relative. */
  href: string
  load: LoadFiles
}

/** Throws an `Error` that says what is wrong with a document as a whole. */
export async function readApi(source: ApiDocument, options: ReadOptions): Promise<Api> {
  const load = onlyOnce(source.load)
  const { document, skipped: unconverted } = await toVersion3({ ...source, load })
  const references = createReferences(document, source.href)
  const observe = <Item, T>(items: readonly Item[], work: (item: Item) => T) => observeAll(items, work, { references, load })
  const [operations] = await observe([document], () => findOperations(document, references))
  const { readable: convertible, unread } = valueOf(operations!)
  const wanted = toWanted({ readable: convertible, unread: [...unconverted, ...unread] }, options)
  const [read] = await observe([document], () => toSchemes(document, references))
  const schemes = valueOf(read!)
  const hidden = new Set([...options.ownHeaders, ...Object.values(schemes).flatMap((one) => (one.type === 'apiKey' ? [one.name] : []))])
  const ownHeaders = new Set(options.ownHeaders.map((name) => name.toLowerCase()))
  const reading: Reading = { references, hidden, ownHeaders, room: Math.min(maxSchema, Math.floor(maxSchemas / wanted.readable.length)) }
  const results = await observe(wanted.readable, (one) => toOperation(one, reading))
  const skipped: SkippedOperation[] = [...wanted.unread]
  const readable = results.flatMap((result, index) => {
    const one = toReadable(result)
    if (typeof one !== 'string') return [one]
    skipped.push({ id: wanted.readable[index]!.id, place: placeOf(wanted.readable[index]!), reason: one })
    return []
  })
  if (readable.length === 0) throw new Error(toNothing(skipped))
  return { operations: readable, schemes, skipped }
}

/** A document of OpenAPI 3, as it is or made of one of Swagger 2.0. */
async function toVersion3({ content: document, href, load }: ApiDocument): Promise<PlainSwagger> {
  if (!isObject(document)) throw new Error('it is no OpenAPI document')
  if (/^3\.\d/.test(String(document['openapi'] ?? ''))) return { document, skipped: [] }
  if (!String(document['swagger'] ?? '').startsWith('2.0'))
    throw new Error('it does not say that it is of OpenAPI 3.0 or 3.1, or Swagger 2.0')
  const references = createReferences(document, href)
  const [result] = await observeAll([document], () => toPlainSwagger(document, href, references), { references, load })
  const plain = valueOf(result!)
  return { document: await upgradeSwagger(plain.document), skipped: plain.skipped }
}

/** Files stay what they were when they were loaded first. */
function onlyOnce(load: LoadFiles): LoadFiles {
  const files = new Map<string, LoadedFile>()
  return async (hrefs) => {
    const missing = hrefs.filter((href) => !files.has(href))
    if (missing.length > 0) for (const [href, file] of await load(missing)) files.set(href, file)
    return new Map(hrefs.map((href) => [href, files.get(href) ?? { fault: 'cannot be read' }]))
  }
}

/** Does `work` for each item, again for those that need further files, until no item needs another one. */
async function observeAll<Item, T>(
  items: readonly Item[],
  work: (item: Item) => T,
  { references, load }: { references: References; load: LoadFiles },
): Promise<Observed<T>[]> {
  const results = items.map((item) => references.observe(() => work(item)))
  for (;;) {
    const awaited = new Set(results.flatMap((result) => [...result.awaited]))
    if (awaited.size === 0) return results
    for (const [href, file] of await load([...awaited])) references.add(href, file)
    for (const [index, item] of items.entries()) if (results[index]!.awaited.size > 0) results[index] = references.observe(() => work(item))
  }
}

function valueOf<T>({ outcome }: Observed<T>): T {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/** The operation, or why it cannot be called. */
function toReadable({ outcome, faults }: Observed<Operation>): Operation | string {
  if ('error' in outcome) return outcome.error instanceof Error ? outcome.error.message : 'it can not be read'
  const external = faults.find(({ isExternal }) => isExternal)
  if (external) return external.reason
  return faults.length === 0 ? outcome.value : { ...outcome.value, description: withGaps(outcome.value.description, faults) }
}

/** A schema that the document forgot takes any value: the operation stays, and says so. */
function withGaps(description: string, faults: readonly ReferenceFault[]): string {
  return `${description}\nPart of its input is not described: ${faults
    .slice(0, 3)
    .map(({ reason }) => reason)
    .join('; ')}.`
}

function toWanted({ readable, unread }: FoundOperations, options: ReadOptions): FoundOperations {
  const total = readable.length + unread.length
  if (total === 0) throw new Error('it has no operations')
  const wanted = readable.filter((one) => isWanted(one, options))
  // An operation that cannot be read has no tags and no name of its own: `include` cannot tell, `exclude` can name it.
  const { include: _, ...excluded } = options
  const unreadable = unread.filter(({ id }) => isWanted({ id, tags: [], operation: {} }, excluded))
  if (wanted.length === 0 && unreadable.length > 0) throw new Error(toNothing(unreadable))
  if (wanted.length === 0) throw new Error(`include and exclude leave none of its ${total} operations (${toNames(readable)})`)
  if (wanted.length > maxOperations) {
    throw new Error(
      `it has ${wanted.length} operations, more than the ${maxOperations} that an entry may have: choose some with include, such as ${toTags(wanted)}`,
    )
  }
  return { readable: wanted, unread: unreadable }
}

function toNothing(skipped: readonly SkippedOperation[]): string {
  const some = skipped.slice(0, 3).map(({ place, reason }) => `${place}: ${reason}`)
  return `none of its operations can be called (${some.join('; ')}${skipped.length > some.length ? '; ...' : ''})`
}

function placeOf({ method, path }: FoundOperation): string {
  return `${method} ${path}`
}

function toNames(found: readonly FoundOperation[]): string {
  const names = found.slice(0, 20).map(({ id }) => id)
  return [...names, ...(found.length > names.length ? ['...'] : [])].join(', ')
}

/** `[tag:issues]; its tags are repos (201), issues (55)`, those with most operations first. */
function toTags(found: readonly FoundOperation[]): string {
  const counts = Map.groupBy(
    found.flatMap(({ tags }) => tags),
    (tag) => tag,
  )
  const tags = [...counts].map(([tag, { length }]) => ({ tag, length })).toSorted((one, other) => other.length - one.length)
  const untagged = found.filter((one) => one.tags.length === 0).length
  if (tags.length === 0) return `["get*"] or names of operations (${toNames(found)}); none of them has a tag`
  const named = tags.slice(0, maxNamedTags).map(({ tag, length }) => `${tag} (${length})`)
  const rest = tags.length > named.length ? [`${tags.length - named.length} more tags`] : []
  const others = untagged > 0 ? [`${untagged} operations without a tag`] : []
  return `${JSON.stringify([`tag:${tags[0]!.tag}`])}; its tags are ${[...named, ...rest, ...others].join(', ')}`
}
