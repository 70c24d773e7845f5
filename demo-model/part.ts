import { findToolsName } from '../src/agent/tool-offer.ts'
import type { ToolOffer } from '../src/agent/model.ts'
import type { Section } from './question.ts'
import { toProfile, type Profile } from './tools.ts'
import type { Work } from './work.ts'

export interface Turn {
  question: string
  answer: string
}

/** What surrounds a question. */
export interface Context {
  /** Earlier questions with the answers, oldest first. */
  turns: readonly Turn[]
  tools: readonly ToolOffer[]
  /** What is remembered about the person. */
  memories: readonly string[]
  /** Summary of turns that are not shown any more. */
  summary: string
  /** Texts that came with the question, as files or messages. */
  texts: readonly Section[]
  /** Names of attached files that the request shows as an outline only. */
  outlined: readonly string[]
}

/** A part of a question with all that its answer may need. */
export interface Part extends Context {
  text: string
  /** True if the part continues an earlier question. */
  isFollowUp: boolean
  /** Earlier questions that the part may continue, oldest first. */
  earlier: readonly string[]
  profiles: readonly Profile[]
}

/** A way to answer a part. The readings of all intents are tried from the highest score down, until an answer is sure. */
export interface Reading {
  score: number
  work(): Work
}

/** A kind of question. */
export interface Intent {
  name: string
  /** Questions of this kind, which are its tests. */
  examples: readonly string[]
  read(part: Part): Reading | readonly Reading[] | undefined
}

/** Scores: an order with a tool's name outweighs all shared words. */
export const scores = { order: 40, exact: 20, given: 12 } as const

/** The search for tools is used only for a tool that the question names, because fitting tools are on offer already. */
export function toPart(part: Omit<Part, 'profiles'>): Part {
  return { ...part, profiles: part.tools.filter(({ name }) => name !== findToolsName).map(toProfile) }
}
