import { isObject } from '../../json/shape.ts'
import type { Api, ApiReadOptions, FoundOperation, Operation, OperationOptions, SkippedOperation } from './api.ts'
import { findOperations, isSelected, toOperation, toSchemes, type OperationsFound } from './operations.ts'
import { createReferences, type LoadedFile, type Observed, type ReferenceFault, type References } from './references.ts'
import { toPlainSwagger, upgradeSwagger, type PlainSwagger } from './swagger2.ts'

/** Maximum operations per entry, more than any model can choose from. */
const maxOperations = 1000
/** Maximum characters of the JSON schema of one tool, and of all tools of an entry. */
const maxSchema = 24_000
const maxSchemas = 8_000_000
const maxNamedTags = 40

/** Loads other files of a document by their addresses. */
export type LoadFiles = (hrefs: readonly string[]) => Promise<ReadonlyMap<string, LoadedFile>>

interface ApiDocument {
  content: unknown
  /** Absolute name of the document; references are relative to this name. */
  href: string
  load: LoadFiles
}

/** Reads the operations of a document. Throws an `Error` with the fault when the document as a whole is unusable. */
export async function readApi(source: ApiDocument, options: ApiReadOptions): Promise<Api> {
  const load = cacheLoads(source.load)
  const { document, skipped: unconverted } = await toVersion3({ ...source, load })
  const references = createReferences(document, source.href)
  const observe = <Item, T>(items: readonly Item[], work: (item: Item) => T) => observeAll(items, work, { references, load })
  const [operations] = await observe([document], () => findOperations(document, references))
  const { readable: convertible, unreadable } = valueOf(operations!)
  const selected = selectOperations({ readable: convertible, unreadable: [...unconverted, ...unreadable] }, options)
  const [schemeResult] = await observe([document], () => toSchemes(document, references))
  const schemes = valueOf(schemeResult!)
  const excludedParameters = new Set([
    ...options.ownHeaders,
    ...Object.values(schemes).flatMap((scheme) => (scheme.type === 'apiKey' ? [scheme.name] : [])),
  ])
  const ownHeaders = new Set(options.ownHeaders.map((name) => name.toLowerCase()))
  const operationOptions: OperationOptions = {
    references,
    excludedParameters,
    ownHeaders,
    maxSchemaCharacters: Math.min(maxSchema, Math.floor(maxSchemas / selected.readable.length)),
  }
  const results = await observe(selected.readable, (operation) => toOperation(operation, operationOptions))
  const skipped: SkippedOperation[] = [...selected.unreadable]
  const readable = results.flatMap((result, index) => {
    const operation = toReadable(result)
    if (typeof operation !== 'string') return [operation]
    skipped.push({ id: selected.readable[index]!.id, location: locationOf(selected.readable[index]!), reason: operation })
    return []
  })
  if (readable.length === 0) throw new Error(describeSkipped(skipped))
  return { operations: readable, schemes, skipped }
}

/** Returns OpenAPI 3 documents unchanged, and converts Swagger 2.0 documents. */
async function toVersion3({ content: document, href, load }: ApiDocument): Promise<PlainSwagger> {
  if (!isObject(document)) throw new Error('it is not an OpenAPI document')
  if (/^3\.\d/.test(String(document['openapi'] ?? ''))) return { document, skipped: [] }
  if (!String(document['swagger'] ?? '').startsWith('2.0')) throw new Error('it does not declare OpenAPI 3.0 or 3.1, or Swagger 2.0')
  const references = createReferences(document, href)
  const [result] = await observeAll([document], () => toPlainSwagger(document, href, references), { references, load })
  const plain = valueOf(result!)
  return { document: await upgradeSwagger(plain.document), skipped: plain.skipped }
}

/** Loads each file once, so that all references see the same content. */
function cacheLoads(load: LoadFiles): LoadFiles {
  const files = new Map<string, LoadedFile>()
  return async (hrefs) => {
    const missing = hrefs.filter((href) => !files.has(href))
    if (missing.length > 0) for (const [href, file] of await load(missing)) files.set(href, file)
    return new Map(hrefs.map((href) => [href, files.get(href) ?? { fault: 'cannot be read' }]))
  }
}

/** Runs `work` for each item, and repeats the items that need further files until no file is missing. */
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

/** The operation, or the reason why the operation cannot be called. */
function toReadable({ outcome, faults }: Observed<Operation>): Operation | string {
  if ('error' in outcome) return outcome.error instanceof Error ? outcome.error.message : 'it cannot be read'
  const external = faults.find(({ isExternal }) => isExternal)
  if (external) return external.reason
  return faults.length === 0 ? outcome.value : { ...outcome.value, description: withGaps(outcome.value.description, faults) }
}

/** Notes missing schemas in the description: a missing local schema accepts any value, and the operation stays usable. */
function withGaps(description: string, faults: readonly ReferenceFault[]): string {
  return `${description}\nPart of its input is not described: ${faults
    .slice(0, 3)
    .map(({ reason }) => reason)
    .join('; ')}.`
}

function selectOperations({ readable, unreadable: allUnreadable }: OperationsFound, options: ApiReadOptions): OperationsFound {
  const total = readable.length + allUnreadable.length
  if (total === 0) throw new Error('it has no operations')
  const selected = readable.filter((operation) => isSelected(operation, options))
  // Tags and operation id of an unreadable operation are unknown: `include` cannot match, `exclude` can use the derived id.
  const { include: _, ...excluded } = options
  const unreadable = allUnreadable.filter(({ id }) => isSelected({ id, tags: [], operation: {} }, excluded))
  if (selected.length === 0 && unreadable.length > 0) throw new Error(describeSkipped(unreadable))
  if (selected.length === 0) throw new Error(`include and exclude leave none of its ${total} operations (${toNames(readable)})`)
  if (selected.length > maxOperations) {
    throw new Error(
      `it has ${selected.length} operations, more than the ${maxOperations} that an entry may have: choose some with include, such as ${toTags(selected)}`,
    )
  }
  return { readable: selected, unreadable }
}

function describeSkipped(skipped: readonly SkippedOperation[]): string {
  const examples = skipped.slice(0, 3).map(({ location, reason }) => `${location}: ${reason}`)
  return `none of its operations can be called (${examples.join('; ')}${skipped.length > examples.length ? '; ...' : ''})`
}

function locationOf({ method, path }: FoundOperation): string {
  return `${method} ${path}`
}

function toNames(operations: readonly FoundOperation[]): string {
  const names = operations.slice(0, 20).map(({ id }) => id)
  return [...names, ...(operations.length > names.length ? ['...'] : [])].join(', ')
}

/** Example: `[tag:issues]; its tags are repos (201), issues (55)`, the largest tags first. */
function toTags(operations: readonly FoundOperation[]): string {
  const counts = Map.groupBy(
    operations.flatMap(({ tags }) => tags),
    (tag) => tag,
  )
  const tags = [...counts].map(([tag, { length }]) => ({ tag, length })).toSorted((a, b) => b.length - a.length)
  const untagged = operations.filter(({ tags }) => tags.length === 0).length
  if (tags.length === 0) return `["get*"] or names of operations (${toNames(operations)}); none of them has a tag`
  const tagTexts = tags.slice(0, maxNamedTags).map(({ tag, length }) => `${tag} (${length})`)
  const rest = tags.length > tagTexts.length ? [`${tags.length - tagTexts.length} more tags`] : []
  const untaggedText = untagged > 0 ? [`${untagged} operations without a tag`] : []
  return `${JSON.stringify([`tag:${tags[0]!.tag}`])}; its tags are ${[...tagTexts, ...rest, ...untaggedText].join(', ')}`
}
