import { randomUUID } from 'node:crypto'
import type { DataFilter, Tool, ToolFinder, ToolSearch } from '../agent/tool.ts'
import type { Retriever, Search } from '../search/retriever.ts'
import { PassageIndex } from '../search/word-index.ts'

/** Index ids of a tool: with its description (`whole`), and without (`bare`). */
interface IndexIds {
  whole: number
  bare: number
}

/** Indexed characters of a description: the purpose of a tool is stated at the beginning. */
const maxDescription = 2000

/** Finds tools by the words of their names, descriptions and parameters. Each tool is indexed once, at its first search. */
export function createToolSearch(): ToolSearch {
  let index = new PassageIndex()
  let indexIds = new Map<Tool, IndexIds>()

  function add(tool: Tool): void {
    const { name, bare, whole } = textsOf(tool)
    indexIds.set(tool, { whole: index.add(name, whole), bare: index.add(name, bare) })
  }

  /** Indexes missing tools. Servers replace their tools: the index is rebuilt when most indexed tools no longer exist. */
  function prepare(tools: readonly Tool[]): void {
    const missing = tools.filter((tool) => !indexIds.has(tool))
    if (missing.length === 0) return
    if (indexIds.size > 2 * tools.length) {
      index = new PassageIndex()
      indexIds = new Map()
      tools.forEach(add)
    } else missing.forEach(add)
  }

  return (query, tools, { limit, filters }) => {
    prepare(tools)
    const byId = new Map(tools.map((tool) => [indexIds.get(tool)![isBare(tool, filters) ? 'bare' : 'whole'], tool]))
    return index.search(wordsOf(query), byId.keys(), limit).flatMap(({ id }) => byId.get(id) ?? [])
  }
}

/** Finds tools by words and meaning, with an index that is opened at the first call. */
export function createToolFinder(search: Search): { find: ToolFinder; close(): Promise<void> } {
  let opening: Promise<Retriever> | undefined
  const ids = new Map<Tool, string>()
  let count = 0

  async function add(retriever: Retriever, tool: Tool): Promise<void> {
    const id = String(count++)
    ids.set(tool, id)
    const { name, bare, whole } = textsOf(tool)
    await retriever.put({ id, version: id, passages: [{ heading: name, text: whole }] })
    if (tool.describe) await retriever.put({ id: toBare(id), version: id, passages: [{ heading: name, text: bare }] })
  }

  /** Indexes missing tools, and forgets tools that no longer exist once they are many. */
  async function prepare(retriever: Retriever, tools: readonly Tool[]): Promise<void> {
    for (const tool of tools) if (!ids.has(tool)) await add(retriever, tool)
    if (ids.size <= 2 * tools.length) return
    const current = new Set(tools)
    const gone = [...ids].filter(([tool]) => !current.has(tool))
    for (const [tool] of gone) ids.delete(tool)
    await retriever.remove(gone.flatMap(([, id]) => [id, toBare(id)]))
  }

  return {
    async find(query, tools, { limit, filters, signal, meter }) {
      const retriever = await (opening ??= search.open(`tools ${randomUUID()}`, { isTransient: true }))
      await prepare(retriever, tools)
      const byId = new Map(
        tools.map((tool) => {
          const id = ids.get(tool)!
          return [isBare(tool, filters) ? toBare(id) : id, tool]
        }),
      )
      const hits = await retriever.search(wordsOf(query), { limit, signal, meter, isVisible: (id) => byId.has(id) })
      return hits.flatMap(({ document }) => byId.get(document) ?? [])
    },
    async close() {
      await (await opening)?.close()
    },
  }
}

function toBare(id: string): string {
  return `${id} bare`
}

/** True if the description may reveal filtered data. */
function isBare(tool: Tool, filters: readonly DataFilter[]): boolean {
  return filters.length > 0 && tool.describe !== undefined
}

/** What is indexed of a tool: with its description (`whole`), and without (`bare`). */
function textsOf(tool: Tool): { name: string; bare: string; whole: string } {
  const bare = parametersOf(tool).map(wordsOf).join(' ')
  return { name: wordsOf(tool.name), bare, whole: `${tool.description.slice(0, maxDescription)} ${bare}` }
}

function parametersOf({ schema }: Tool): string[] {
  const { properties } = schema
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

/** Splits camel case into words: `listOpenIssues`, `HTTPServer`. */
function wordsOf(text: string): string {
  return text.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
}
