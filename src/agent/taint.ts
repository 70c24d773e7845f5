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
}

/** The containment of an agent. */
export interface Containment {
  policy: ContainmentPolicy
  /** What the model is shown beside the transcript: a summary, memories, and what the agent above was shown. */
  inherited: Taint
  /** The words of the persons, for an agent whose question is the text of another agent; default: the transcript has them. */
  humanTexts?: readonly string[]
}

/** Text that no stranger has written, and that holds no data of the tenant. */
export const cleanTaint: Taint = { sources: [], isPrivate: false }

/** Text of which nothing is known. */
export const unknownTaint: Taint = { sources: [{ tool: 'unknown' }], isPrivate: true }

/** The marks of a tool that declares none. */
const strictest: ToolMarks = { trust: 'untrusted', private: true, outbound: true }

/** The marks of the tools of the loop itself: nobody else writes their output. */
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

/** What the output of a call may carry; `host` is the host that the input names. */
export function taintOfCall(name: string, marks: ToolMarks, callId: string, host?: string): Taint {
  const source = { tool: name, callId, ...(host !== undefined && { host }) }
  return { sources: marks.trust === 'untrusted' ? [source] : [], isPrivate: marks.private }
}

/**
 * What the messages of a transcript carry, by the taint that is stored with each. A result without one is of a time without containment:
 * the marks of the tool count, and the strictest for a tool that does not exist any more.
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

/** What the descriptions of tools carry: a server that writes the descriptions can write anything into them. */
export function taintOfDescriptions(tools: readonly Tool[]): Taint {
  const entries = new Set(tools.flatMap(({ marks }) => (marks?.describedBy === undefined ? [] : [marks.describedBy])))
  return { sources: [...entries].slice(0, maxSources).map((entry) => ({ tool: entry, entry })), isPrivate: false }
}
