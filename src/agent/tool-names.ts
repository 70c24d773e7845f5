import { normaliseText } from './normalise-text.ts'
import type { Tool } from './tool.ts'

/** What every provider takes as the name of a tool: `[A-Za-z0-9_-]{1,64}`. This is the one place that makes such names. */
const longest = 64
/** Of a name that a server or a file brings. */
const maxRead = 1000
const fits = /^[A-Za-z0-9_-]{1,64}$/

/** What the agent itself offers to the model beside its configured tools: no entry may have these names. */
export const ownToolNames: ReadonlySet<string> = new Set(['create_sub_agent', 'end_sub_agent', 'find_tools'])

/** The name, made fit; the same name always becomes the same. */
export function fitName(name: string): string {
  if (fits.test(name)) return name
  const plain = normaliseText(name.slice(0, maxRead), 'NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9_-]/gu, '_')
  return plain.slice(0, longest) || '_'
}

/** Tools by the names under which a model knows them, in the order given. One that fits as it is keeps its name. */
export function nameTools<T extends Pick<Tool, 'name'>>(tools: readonly T[]): Map<string, T> {
  const taken = new Set(tools.map((tool) => tool.name).filter((name) => fits.test(name)))
  const named = new Map<string, T>()
  for (const tool of tools) {
    const isOwn = fits.test(tool.name) && !named.has(tool.name)
    const name = isOwn ? tool.name : freeName(fitName(tool.name), taken)
    taken.add(name)
    named.set(name, tool)
  }
  return named
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name
  for (let n = 2; taken.has(free); n++) free = `${name.slice(0, longest - 1 - String(n).length)}_${n}`
  return free
}

/** The tool that a model means: by the name that it was told, else by the tool's own, which instructions may speak of. */
export function findTool(named: ReadonlyMap<string, Tool>, name: string): Tool | undefined {
  return named.get(name) ?? [...named.values()].find((tool) => tool.name === name)
}
