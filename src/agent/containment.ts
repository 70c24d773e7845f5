import { isQuestion, isSteer } from './inbox.ts'
import type { Hold, JsonObject, Message, Taint, TaintSource, ToolCall } from './messages.ts'
import type { CallOptions } from './options.ts'
import {
  cleanTaint,
  describerOf,
  joinTaints,
  marksOf,
  taintOfDescriptions,
  taintOfMessages,
  type ContainmentPolicy,
  type Verdict,
} from './taint.ts'
import type { Tool } from './tool.ts'
import { nameTools } from './tool-names.ts'

/**
 * Containment of text that strangers have written: once a model was shown such a text, calls that change something, or that carry text
 * outside, are held. The rule is a function of what the model was shown, and of the call. No model judges, and no flag can be lost.
 */

/** A call with an effect outside, after text of strangers. */
export interface Sink {
  verdict: Verdict
  sources: readonly TaintSource[]
  /** True when the call may reach the hosts of the policy alone. */
  staysInside?: boolean
}

const ranks: readonly Verdict[] = ['allow', 'approve', 'refuse']

export function stricterVerdict(...verdicts: readonly Verdict[]): Verdict {
  return ranks[Math.max(0, ...verdicts.map((verdict) => ranks.indexOf(verdict)))]!
}

/** The policy of a run whose configuration has changed: the stricter of both. Undefined where both are absent. */
export function stricterPolicy(a: ContainmentPolicy | undefined, b: ContainmentPolicy | undefined): ContainmentPolicy | undefined {
  if (!a || !b) return a ?? b
  return {
    afterUntrusted: stricterVerdict(a.afterUntrusted, b.afterUntrusted),
    outbound: stricterVerdict(a.outbound, b.outbound),
    outboundHosts: a.outboundHosts.filter((host) => b.outboundHosts.includes(host)),
    ...((a.stripsImages || b.stripsImages) && { stripsImages: true }),
  }
}

/** Taint of everything shown to the model before the message at `end`. Clean without containment. */
export function shownBefore(options: Pick<CallOptions, 'containment' | 'messages' | 'tools'>, end: number): Taint {
  const { containment, messages } = options
  if (!containment) return cleanTaint
  const tools = options.tools()
  return joinTaints(containment.inherited, taintOfMessages(messages.slice(0, end), nameTools(tools)), taintOfDescriptions(tools))
}

/** Looks at a call. Undefined for a call that is free, whatever the policy. */
export function toSink(
  tool: Tool,
  input: JsonObject,
  shown: Taint,
  options: Pick<CallOptions, 'containment' | 'messages'>,
): Sink | undefined {
  const { containment } = options
  const { effect, marks } = tool
  if (!containment || shown.sources.length === 0) return undefined
  const { policy } = containment
  const destination = tool.destinationOf?.(input)
  // Descriptions of a server may cause writes at the same server, but may not carry private data there.
  const foreignSources = shown.sources.filter(({ entry }) => entry === undefined || entry !== describerOf(tool))
  const isWrite = effect === 'write' && !destination?.isSafe && foreignSources.length > 0
  const isKnown = destination?.isSafe && destination.isBare && humanAddresses(options).has(toAddress(destination.url))
  const carries = marksOf({ ...(marks && { marks }) }).outbound && shown.isPrivate && !isKnown
  if (!isWrite && !carries) return undefined
  const verdict = stricterVerdict(isWrite ? policy.afterUntrusted : 'allow', carries ? policy.outbound : 'allow')
  const staysInside = verdict !== 'allow' && destination !== undefined && isListed(destination.url, policy.outboundHosts)
  return {
    verdict: staysInside ? 'allow' : verdict,
    sources: carries ? shown.sources : foreignSources,
    ...(staysInside && { staysInside }),
  }
}

/** The hold of a call; undefined for a call that may run. */
export function toHold(sink: Sink | undefined): Hold | undefined {
  return sink && sink.verdict !== 'allow' ? { verdict: sink.verdict, sources: sink.sources } : undefined
}

/** The stricter of the hold of the moment when the model asked, and that of now. */
export function stricterHold(before: Hold | undefined, now: Hold | undefined): Hold | undefined {
  return before?.verdict === 'refuse' ? before : (now ?? before)
}

/** The text for the model, and for the caller, of a refused call. */
export function refusalText(sources: readonly TaintSource[]): string {
  const names = sources.slice(0, maxNamed).map(({ tool, host }) => (host === undefined ? tool : `${tool} (${host})`))
  const more = sources.length > maxNamed ? ` and ${sources.length - maxNamed} others` : ''
  return `refused, because the run has read untrusted content: ${[...new Set(names)].join(', ')}${more}`
}

const maxNamed = 5

/** The earlier calls of the same tool with the same arguments that containment holds too: a decision on one is a decision on all. */
export function equalCalls(call: ToolCall, messages: readonly Message[]): ToolCall[] {
  if (call.held?.verdict !== 'approve') return []
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []))
  const earlier = calls.slice(
    0,
    calls.findIndex(({ id }) => id === call.id),
  )
  return earlier.filter(({ name, arguments: input, held }) => held?.verdict === 'approve' && name === call.name && input === call.arguments)
}

/** True when an address is of one of the hosts. A host without a port means the usual port of https or http. */
export function isListed(address: string, hosts: readonly string[]): boolean {
  if (hosts.length === 0 || !URL.canParse(address)) return false
  const { protocol, hostname, host } = new URL(address)
  if (!/^https?:$/.test(protocol)) return false
  return hosts.some((entry) => {
    const pattern = entry.toLowerCase()
    const name = /:\d+$/.test(pattern) ? host : hostname === host ? hostname : ''
    return pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern
  })
}

/** Throws for an address outside of the hosts: a host that redirects must not lead a call elsewhere. */
export function toReachCheck(hosts: readonly string[], sources: readonly TaintSource[]): (url: URL) => void {
  return (url) => {
    if (!isListed(url.href, hosts)) throw new Error(`${url.host} was not asked: ${refusalText(sources)}`)
  }
}

/** The words of the persons of a run: the question, and the messages to the run. */
export function humanTextsIn(messages: readonly Message[]): string[] {
  const start = messages.findLastIndex(isQuestion)
  return messages.slice(Math.max(0, start)).flatMap((message) => {
    if (message.role !== 'user' || (!isQuestion(message) && !isSteer(message))) return []
    return [message.parts?.question ?? message.text]
  })
}

function humanAddresses({ containment, messages }: Pick<CallOptions, 'containment' | 'messages'>): Set<string> {
  return new Set((containment?.humanTexts ?? humanTextsIn(messages)).flatMap(addressesIn))
}

/** The addresses in a text of a person. Punctuation behind an address may belong to the sentence, so both readings count. */
function addressesIn(text: string): string[] {
  const found = text.slice(0, maxText).match(/https?:\/\/[^\s<>"'`]+/gi) ?? []
  return found.slice(0, maxAddresses).flatMap((word) => [toAddress(word), toAddress(withoutPunctuation(word))])
}

const maxText = 200_000
const maxAddresses = 200

function withoutPunctuation(word: string): string {
  let end = word.length
  while (end > 0 && '.,;:!?)]}'.includes(word[end - 1]!)) end--
  return word.slice(0, end)
}

/** The address as `URL` writes it, without the fragment, which is never sent. */
function toAddress(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  url.hash = ''
  return url.href
}
