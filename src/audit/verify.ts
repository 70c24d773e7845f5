import { chainHash, firstHash, type SealedEvent } from './event.ts'
import type { ChainedEvent, Link } from './ledger-source.ts'
import { createHeadCheck, type HeadKey, type SignedHead } from './heads.ts'

/** What is wrong with a ledger. `seq`: the first number where something is wrong. */
export class LedgerBroken extends Error {
  readonly tenant: string
  readonly seq: number
  /** What is wrong, without the number. */
  readonly reason: string

  constructor(tenant: string, seq: number, reason: string) {
    super(`seq ${seq}: ${reason}`)
    this.name = 'LedgerBroken'
    this.tenant = tenant
    this.seq = seq
    this.reason = reason
  }
}

export interface VerifyOptions {
  /** Public keys of the service. Undefined: signatures are not checked, only whether heads fit. */
  keys?: readonly HeadKey[]
  /** Heads that lie elsewhere, as they were sent. */
  heads?: readonly SignedHead[]
  /** True where every chain must begin at its first event, or behind a signed cut: in a database, not in an export of a time. */
  isWhole: boolean
}

/** What holds for the events of a tenant. */
export interface VerifiedChain {
  tenant: string
  /** Number of events. */
  count: number
  /** First and last number; of no event both are those of the cut, or 0. */
  from: number
  to: number
  hash: string
  /** The last number that a signature covers. Events behind are protected by the chain alone. */
  signedTo: number
  /** Given heads that lie before the first event, so that nothing can be compared. */
  before: number[]
  /** Events that were signed much later than their time. Absent: none, or no signature was checked. */
  late?: LateEvents
}

/** `from`: the first number behind the head before. `to`: the number of the head. */
export interface LateEvents {
  from: number
  to: number
  /** Between the earliest time of an event and the signature. */
  ms: number
}

/** A running service signs an event within an hour or so. */
const lateMs = 86_400_000

/**
 * Checks links in the order of an export, one at a time: memory does not grow with their number. `add` and `end` throw `LedgerBroken`.
 */
export function createVerifier(options: VerifyOptions) {
  const check = options.keys && createHeadCheck(options.keys)
  const given = Map.groupBy(options.heads ?? [], ({ tenant }) => tenant)
  const chains = new Map<string, ChainCheck>()
  const chainOf = (tenant: string) => {
    const chain = chains.get(tenant) ?? createChainCheck(tenant, { check, given: given.get(tenant) ?? [], isWhole: options.isWhole })
    chains.set(tenant, chain)
    return chain
  }
  return {
    add(link: Link): void {
      if ('event' in link) chainOf(link.event.tenant).event(link.event)
      else chainOf(link.head.tenant).head(link.head)
    },
    /** After the last link. A tenant with a given head and no event is broken too. */
    end(): VerifiedChain[] {
      return [...new Set([...chains.keys(), ...given.keys()])].map((tenant) => chainOf(tenant).end())
    },
  }
}

/** Nesting without an end, which another program wrote, has no hash. */
function hashOrNone(previous: string, event: SealedEvent): string | undefined {
  try {
    return chainHash(previous, event)
  } catch {
    return undefined
  }
}

type ChainCheck = ReturnType<typeof createChainCheck>

interface ChainOptions {
  check: ((head: SignedHead) => string | undefined) | undefined
  given: readonly SignedHead[]
  isWhole: boolean
}

function createChainCheck(tenant: string, { check, given, isWhole }: ChainOptions) {
  const chain: VerifiedChain = { tenant, count: 0, from: 0, to: 0, hash: firstHash, signedTo: 0, before: [] }
  /** Given heads by their number, without those that were compared. */
  const waiting = new Map(Map.groupBy(given, ({ seq }) => seq))
  let isBegun = false
  /** The earliest time of an event behind the last head. */
  let earliest = Infinity
  const fail = (seq: number, reason: string): never => {
    throw new LedgerBroken(tenant, seq, reason)
  }

  function checkSignature(head: SignedHead, from: string): void {
    const fault = check?.(head)
    if (fault !== undefined) fail(head.seq, `${from}: ${fault}`)
  }

  function compare(head: SignedHead, from: string): void {
    checkSignature(head, from)
    if (head.hash !== chain.hash) fail(head.seq, `${from} does not fit: its hash is another`)
    if (!check) return
    const ms = Date.parse(head.at) - earliest
    if (head.kind === 'head' && ms > Math.max(lateMs, chain.late?.ms ?? 0))
      chain.late = { from: Math.max(chain.from, chain.signedTo + 1), to: head.seq, ms }
    earliest = Infinity
    chain.signedTo = head.seq
  }

  function begin(event: ChainedEvent): void {
    isBegun = true
    const isFirst = event.seq === 1
    if (isWhole && !isFirst) fail(1, `missing: the ledger begins at seq ${event.seq}, without a signed cut`)
    if (isFirst && event.prev_hash !== firstHash) fail(1, 'hash does not match: the first event follows another')
    Object.assign(chain, { from: event.seq, to: event.seq - 1, hash: event.prev_hash })
  }

  function meetGiven(): void {
    for (const head of waiting.get(chain.to) ?? []) compare(head, 'the given head')
    waiting.delete(chain.to)
  }

  /** Heads that were sent earlier than the events of this ledger cannot be compared. */
  function skipEarlier(): void {
    for (const seq of [...waiting.keys()].filter((seq) => seq < chain.from)) {
      chain.before.push(seq)
      waiting.delete(seq)
    }
  }

  return {
    event(event: ChainedEvent): void {
      const { seq, prev_hash: previous, hash } = event
      if (!isBegun) begin(event)
      if (chain.count === 0) meetGiven()
      const expected = chain.to + 1
      if (seq > expected) fail(expected, `missing: seq ${seq} follows`)
      if (seq !== expected) fail(seq, 'a second event with this number, or out of order')
      const { prev_hash: _, hash: __, ...sealed } = event
      if (hashOrNone(previous, sealed) !== hash) fail(seq, 'hash does not match')
      if (previous !== chain.hash) fail(seq, `does not follow seq ${seq - 1}: the hash before is another`)
      chain.count += 1
      Object.assign(chain, { to: seq, hash })
      earliest = Math.min(earliest, Date.parse(event.at) || 0)
      meetGiven()
    },
    head(head: SignedHead): void {
      if (head.kind === 'cut' && isBegun) fail(head.seq, 'a cut in the middle of the ledger')
      if (head.kind === 'cut') {
        isBegun = true
        Object.assign(chain, { from: head.seq + 1, to: head.seq, hash: head.hash })
      }
      if (head.seq > chain.to)
        fail(chain.to + 1, `missing: a head was signed at seq ${head.seq}, and the last event before is seq ${chain.to}`)
      if (head.seq < chain.to) fail(head.seq, 'a head out of order')
      compare(head, head.kind === 'cut' ? 'the signed cut' : 'the signed head')
    },
    end(): VerifiedChain {
      skipEarlier()
      for (const heads of waiting.values()) for (const head of heads) checkSignature(head, 'the given head')
      const last = Math.max(0, ...waiting.keys())
      if (last > chain.to)
        fail(chain.to + 1, `missing: the given head is of seq ${last}, and the ledger ends at seq ${chain.to}: its end was cut off`)
      return chain
    },
  }
}
