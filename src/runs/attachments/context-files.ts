import type { Tool } from '../../agent/tool.ts'
import type { Agent } from '../../configuration/agent.ts'
import { arrange, toContextText, type ContextFile } from '../../files/context-text.ts'
import { createPatterns } from '../../files/patterns.ts'
import { whyUnreadable, type Attachments } from './attachments.ts'
import type { LiveRun } from '../ownership/live-run.ts'

export interface ContextDependencies {
  attachments: Attachments
  /** A tool of this name that reads these files and no others. */
  readTool(name: string, files: readonly string[]): Tool
  newId(): string
}

/** What stands before a run's question, and the tool that reads on in it where the agent has none of its own. */
export interface Context {
  text: string
  tool: Tool | undefined
}

/** The context files of a run as they are now; undefined where it has none. */
export async function loadContext({ key, request, agent }: LiveRun, deps: ContextDependencies): Promise<Context | undefined> {
  const names = request.contextFiles ?? []
  if (names.length === 0) return undefined
  const files = await Promise.all(
    names.map(async (name): Promise<ContextFile> => {
      // One that is gone by now must not take away what was accepted.
      const content = await deps.attachments
        .read(name, { caller: key, agent, filters: request.filters })
        .catch((error: unknown) => ({ fault: faultOf(error) }))
      return { name, content }
    }),
  )
  const arranged = arrange(files, roomFor(agent))
  const outlined = arranged.filter((file) => !file.isWhole).map((file) => file.name)
  const reader = outlined.length > 0 ? readerFor(outlined, agent, deps) : undefined
  const mark = deps.newId().slice(-12)
  return { text: toContextText(arranged, { mark, tool: reader?.name }), tool: reader?.tool }
}

function faultOf(error: unknown): string {
  return `[This file can not be shown: ${whyUnreadable(error)}]`
}

/** Characters in a quarter of the window. */
function roomFor({ config }: Agent): number {
  const charactersPerToken = 4
  return (config.memory.history_tokens / 4) * charactersPerToken
}

/** The agent's own tool where it may read all of the files, else one for them alone. */
function readerFor(names: readonly string[], agent: Agent, { readTool }: ContextDependencies): { name: string; tool?: Tool } {
  const listings = agent.tools.list()
  const own = agent.config.tools.find(({ name, type = name, config }) => {
    if (type !== 'read_file' || !listings.some((one) => one.name === name && one.tool)) return false
    const { matches } = createPatterns((config?.['paths'] as string[] | undefined) ?? ['**'])
    return names.every(matches)
  })
  if (own) return { name: own.name }
  const name = listings.some((one) => one.name === 'read_file') ? 'read_context_file' : 'read_file'
  return { name, tool: readTool(name, names) }
}
