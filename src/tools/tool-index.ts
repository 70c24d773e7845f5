import type { Tool, ToolSearch } from '../agent/tool.ts'
import { createPassageIndex } from '../search/word-index.ts'

/** Where a tool stands in the index: with its description, and without. */
interface IndexIds {
  whole: number
  bare: number
}

/** Of longer descriptions the rest says nothing of what the tool is for. */
const maxDescription = 2000

/** Finds tools by the words of their names, descriptions and parameters. Each is indexed once, when it is first looked for. */
export function createToolSearch(): ToolSearch {
  let index = createPassageIndex()
  let places = new Map<Tool, IndexIds>()

  function add(tool: Tool): void {
    const name = wordsOf(tool.name)
    const parameters = parametersOf(tool).map(wordsOf).join(' ')
    const bare = index.add(name, parameters)
    const whole = index.add(name, `${tool.description.slice(0, maxDescription)} ${parameters}`)
    places.set(tool, { whole, bare })
  }

  /** Servers change their tools: those that are gone are forgotten when they are the larger part. */
  function prepare(tools: readonly Tool[]): void {
    const missing = tools.filter((tool) => !places.has(tool))
    if (missing.length === 0) return
    if (places.size > 2 * tools.length) {
      index = createPassageIndex()
      places = new Map()
      tools.forEach(add)
    } else missing.forEach(add)
  }

  return (query, among, { limit, filters }) => {
    prepare(among)
    const isBare = (tool: Tool) => filters.length > 0 && tool.describe !== undefined
    const byId = new Map(among.map((tool) => [places.get(tool)![isBare(tool) ? 'bare' : 'whole'], tool]))
    return index.search(wordsOf(query), byId.keys(), limit).flatMap(({ id }) => byId.get(id) ?? [])
  }
}

function parametersOf({ schema }: Tool): string[] {
  const { properties } = schema
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

/** `listOpenIssues` and `HTTPServer` are words too. */
function wordsOf(text: string): string {
  return text.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
}
