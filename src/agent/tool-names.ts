import type { Tool } from './tool.ts'

/**
 * The tool names that every provider accepts: `[A-Za-z_][A-Za-z0-9_-]{0,63}`. Gemini refuses a name that begins with a digit. All names for
 * models are made in this file.
 */
const maxLength = 64
/** Characters read of a name from a server or a file. */
const maxRead = 1000
const fits = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/** Tools offered by the agent in addition to configured tools: no entry may have these names. */
export const ownToolNames: ReadonlySet<string> = new Set(['create_sub_agent', 'end_sub_agent', 'find_tools'])

/** Turns any name into an accepted one; the same name always gives the same result. */
export function fitName(name: string): string {
  if (fits.test(name)) return name
  const plain = normaliseText(name.slice(0, maxRead), 'NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9_-]/gu, '_')
  const prefixed = /^[0-9-]/.test(plain) ? `t_${plain}` : plain
  return prefixed.slice(0, maxLength) || '_'
}

/** Maps the names for the model to the tools, in the given order. A name that is already accepted stays. */
export function nameTools<T extends Pick<Tool, 'name'>>(tools: readonly T[]): Map<string, T> {
  const takenNames = new Set(tools.map((tool) => tool.name).filter((name) => fits.test(name)))
  const toolsByName = new Map<string, T>()
  for (const tool of tools) {
    const isOwn = fits.test(tool.name) && !toolsByName.has(tool.name)
    const name = isOwn ? tool.name : freeName(fitName(tool.name), takenNames)
    takenNames.add(name)
    toolsByName.set(name, tool)
  }
  return toolsByName
}

const names = new WeakMap<readonly Tool[], ReadonlyMap<string, Tool>>()

/** `nameTools` for the tools of an agent: a turn asks several times, and the list is replaced where the tools change. */
export function namesOf(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  let toolsByName = names.get(tools)
  if (!toolsByName) names.set(tools, (toolsByName = nameTools(tools)))
  return toolsByName
}

function freeName(name: string, takenNames: ReadonlySet<string>): string {
  let free = name
  for (let n = 2; takenNames.has(free); n++) free = `${name.slice(0, maxLength - 1 - String(n).length)}_${n}`
  return free
}

/**
 * The tool that a model calls: by its name for the model, else by its configured name, which instructions may mention.
 */
export function findTool(toolsByName: ReadonlyMap<string, Tool>, name: string): Tool | undefined {
  return toolsByName.get(name) ?? [...toolsByName.values()].find((tool) => tool.name === name)
}

/**
 * Combining marks kept behind one letter, as in Unicode's Stream-Safe Text Format (UAX #15); no script needs more. ICU
 * sorts the marks of a letter in quadratic time, so 40,000 of them would block the event loop for seconds.
 */
const excess = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/**
 * `text.normalize(form)` in linear time: marks beyond the 30th of a letter are dropped. All normalisation of text goes
 * through this function.
 */
export function normaliseText(text: string, form: 'NFC' | 'NFD' | 'NFKD'): string {
  return text.replace(excess, '$1').normalize(form)
}
