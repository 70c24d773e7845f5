import type { Message, Taint, TaintSource } from './messages.ts'
import type { Tool, ToolMarks } from './tool.ts'
import { findTool } from './tool-names.ts'

export type Verdict = 'allow' | 'approve' | 'refuse'

export interface ContainmentPolicy {
  /** For calls that change something, after text of strangers. */
  afterUntrusted: Verdict
  /** For calls that carry text outside, after text of strangers and private data. */
  outbound: Verdict
  /** Hosts that requests may always reach: names, or `*.example.com` for all under a name. */
  outboundHosts: readonly string[]
  /** Replaces the pictures of foreign hosts in answers. */
  stripsImages?: boolean
}

/** The containment of an agent. */
export interface Containment {
  policy: ContainmentPolicy
  /** Taint from beside the transcript: a summary, memories, and the agent above. */
  inherited: Taint
  /** The words of the persons, for an agent with a question of another agent; default: from the transcript. */
  humanTexts?: readonly string[]
}

/** Text without words of strangers and without data of the tenant. */
export const cleanTaint: Taint = { sources: [], isPrivate: false }

/** Text of which nothing is known. */
export const unknownTaint: Taint = { sources: [{ tool: 'unknown' }], isPrivate: true }

/** The marks of a tool without marks. */
const strictest: ToolMarks = { trust: 'untrusted', private: true, outbound: true }

/** The marks of the tools of the loop itself. */
export const ownMarks: ToolMarks = { trust: 'trusted', private: false, outbound: false }

/** Sources that are listed of each taint: a long run reads hundreds of pages. */
const maxSources = 20

export function marksOf({ marks = strictest }: Pick<Tool, 'marks'>): ToolMarks {
  return marks
}

/** The taint of all texts together. */
export function joinTaints(...taints: readonly (Taint | undefined)[]): Taint {
  const sources = new Map<string, TaintSource>()
  let isPrivate = false
  for (const taint of taints) {
    isPrivate ||= taint?.isPrivate === true
    for (const source of taint?.sources ?? []) sources.set(source.callId ?? `${source.tool} ${source.entry ?? ''}`, source)
  }
  return { sources: [...sources.values()].slice(0, maxSources), isPrivate }
}

/** The taint of the output of a call; `host` is the host in the input. */
export function taintOfCall(name: string, marks: ToolMarks, callId: string, host?: string): Taint {
  const source = { tool: name, callId, ...(host !== undefined && { host }) }
  return { sources: marks.trust === 'untrusted' ? [source] : [], isPrivate: marks.private }
}

/**
 * The taint of a transcript, by the taint stored with each message. A result without stored taint is from before containment:
 * the marks of the tool count, and the strictest marks for a missing tool.
 */
export function taintOfMessages(messages: readonly Message[], toolsByName: ReadonlyMap<string, Tool>): Taint {
  return joinTaints(
    ...messages.map((message) => {
      if (message.role === 'user') return undefined
      if (message.role === 'assistant' || message.taint) return message.taint
      const tool = findTool(toolsByName, message.name)
      return taintOfCall(tool?.name ?? message.name, marksOf(tool ?? {}), message.callId)
    }),
  )
}

/** The entry whose server, or whose data, writes the description of a tool; undefined for a description of the operator. */
export function describerOf({ name, marks, describe }: Pick<Tool, 'name' | 'marks' | 'describe'>): string | undefined {
  return marks?.describedBy ?? (describe && marks?.trust === 'untrusted' ? name : undefined)
}

/** The taint of the descriptions of tools: a server with own descriptions can write anything there, and so can the authors of data. */
export function taintOfDescriptions(tools: readonly Tool[]): Taint {
  const entries = new Set(tools.flatMap((tool) => describerOf(tool) ?? []))
  return { sources: [...entries].slice(0, maxSources).map((entry) => ({ tool: entry, entry })), isPrivate: false }
}
