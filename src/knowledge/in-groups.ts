import { settlesWithin } from '../concurrency/settles-within.ts'

/** What is done with items, in groups. */
export interface GroupWork<Item, Loaded> {
  /** The next item; undefined after the last. Several calls of `inGroups` may share it. */
  next(): Item | undefined
  load(item: Item): Promise<Loaded>
  /** Memory that a loaded item takes, in characters. */
  sizeOf(loaded: Loaded): number
  /** Gets at least one item. */
  finish(group: readonly Loaded[]): Promise<void>
}

const maxItems = 32
const maxCharacters = 500_000
/** A document is found soon after it was read, even if the next ones take long. */
const maxMs = 200

/** Loads items one by one and finishes them in groups: adding many documents to an index at once takes a fraction of the time. */
export async function inGroups<Item, Loaded>({ next, load, sizeOf, finish }: GroupWork<Item, Loaded>): Promise<void> {
  let group: Loaded[] = []
  let characters = 0
  let finishAt = performance.now() + maxMs
  async function finishGroup(): Promise<void> {
    const items = group
    group = []
    characters = 0
    if (items.length > 0) await finish(items)
    finishAt = performance.now() + maxMs
  }
  for (let item = next(); item !== undefined; item = next()) {
    const loading = load(item)
    // A failure is met below.
    loading.catch(() => undefined)
    if (!(await settlesWithin(loading, Math.max(0, finishAt - performance.now())))) await finishGroup()
    const loaded = await loading
    group.push(loaded)
    characters += sizeOf(loaded)
    if (group.length >= maxItems || characters >= maxCharacters) await finishGroup()
  }
  await finishGroup()
}
