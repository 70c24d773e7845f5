import type { Tool, ToolSearch } from '../agent/tool.ts'
import { createPassageIndex } from '../search/word-index.ts'

/** Index ids of a tool: with its description (`whole`), and without (`bare`). */
interface IndexIds {
  whole: number
  bare: number
}

/** Indexed characters of a description: the purpose of a tool is stated at the beginning. */
const maxDescription = 2000

/** Finds tools by the words of their names, descriptions and parameters. Each tool is indexed once, at its first search. */
export function createToolSearch(): ToolSearch {
  let index = createPassageIndex()
  let indexIds = new Map<Tool, IndexIds>()

  function add(tool: Tool): void {
    const name = wordsOf(tool.name)
    const parameters = parametersOf(tool).map(wordsOf).join(' ')
    const bare = index.add(name, parameters)
    const whole = index.add(name, `${tool.description.slice(0, maxDescription)} ${parameters}`)
    indexIds.set(tool, { whole, bare })
  }

  /** Indexes missing tools. Servers replace their tools: the index is rebuilt when most indexed tools no longer exist. */
  function prepare(tools: readonly Tool[]): void {
    const missing = tools.filter((tool) => !indexIds.has(tool))
    if (missing.length === 0) return
    if (indexIds.size > 2 * tools.length) {
      index = createPassageIndex()
      indexIds = new Map()
      tools.forEach(add)
    } else missing.forEach(add)
  }

  return (query, tools, { limit, filters }) => {
    prepare(tools)
    const isBare = (tool: Tool) => filters.length > 0 && tool.describe !== undefined
    const byId = new Map(tools.map((tool) => [indexIds.get(tool)![isBare(tool) ? 'bare' : 'whole'], tool]))
    return index.search(wordsOf(query), byId.keys(), limit).flatMap(({ id }) => byId.get(id) ?? [])
  }
}

function parametersOf({ schema }: Tool): string[] {
  const { properties } = schema
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

/** Splits camel case into words: `listOpenIssues`, `HTTPServer`. */
function wordsOf(text: string): string {
  return text.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
}
