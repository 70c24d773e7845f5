import type { MemoryKind, NewMemory } from './memory.ts'

/**
 * Finds statements of people about themselves by simple patterns: for the embedded model, and when a model's answer
 * cannot be parsed.
 */

/** Longer messages are mostly pasted material, not statements of the caller. */
const maxMessage = 2000
/** Longer values are mostly about something else. */
const maxValue = 160
const maxRemembered = 300

interface PatternRule {
  kind: MemoryKind
  pattern: RegExp
  /** `$1` and so on stand for the captured words. */
  content: string
}

const value = `([^.!?\\n]{1,${maxValue}}?)`
const end = '\\s*[.!]*$'
const please =
  "^(?:please\\s+|and\\s+|also\\s+|well,?\\s+|hi,?\\s+|hello,?\\s+|by the way,?\\s+|fyi,?\\s+|from now on,?\\s+|in (?:the )?future,?\\s+|i(?:'d| would) like you to\\s+)*"

function rule(kind: MemoryKind, pattern: string, content: string): PatternRule {
  return { kind, pattern: new RegExp(`${please}${pattern}${end}`, 'iu'), content }
}

/** Ordered: the first matching rule is applied. */
const rules: PatternRule[] = [
  rule('fact', `(?:my name(?: is|'s)|i am called|i'm called)\\s+${value}`, "The user's name is $1."),
  rule('preference', `call me\\s+${value}`, 'The user wants to be called $1.'),
  rule('fact', `i(?:'ve| have)? (?:just |recently )?(?:moved to|now live in|live in|am living in)\\s+${value}`, 'The user lives in $1.'),
  rule('fact', `(?:i am|i'm) (?:now )?(?:living|based) in\\s+${value}`, 'The user lives in $1.'),
  rule('fact', `(?:i am|i'm|i come) from\\s+${value}`, 'The user is from $1.'),
  rule('fact', `i (?:now )?work (at|for|in|as)\\s+${value}`, 'The user works $1 $2.'),
  rule('fact', `(?:i am|i'm) (an? [^.!?\\n]{2,60}?)`, 'The user is $1.'),
  rule(
    'preference',
    `(?:always |only )?(?:answer|reply|respond|write|speak)(?: to)?(?: me)?(?: only| always)? in\\s+${value}`,
    'The user wants answers in $1.',
  ),
  rule('preference', `(always|never) ${value}`, 'The user wishes: $1 $2.'),
  rule('preference', `(?:do not|don't) ever ${value}`, 'The user wishes: never $1.'),
  rule('preference', `i(?:'d| would)? (?:always |generally |usually |much )?prefer ${value}`, 'The user prefers $1.'),
  rule('preference', `i (?:really |absolutely )?(like|love|enjoy|hate|dislike) ${value}`, 'The user $1s $2.'),
  rule('preference', `i (?:do not|don't) like ${value}`, 'The user does not like $1.'),
  rule(
    'fact',
    `my ((?:[\\p{L}\\p{N}'-]+ ){0,3}[\\p{L}\\p{N}'-]+) (is|are|was born|has|have|will be|works) ${value}`,
    "The user's $1 $2 $3.",
  ),
  rule('fact', `i (have|own|speak|study|use|run|manage|drive|am allergic to) ${value}`, 'The user $1 $2.'),
]

const thirdPerson: Record<string, string> = {
  have: 'has',
  own: 'owns',
  speak: 'speaks',
  study: 'studies',
  use: 'uses',
  run: 'runs',
  manage: 'manages',
  drive: 'drives',
  'am allergic to': 'is allergic to',
}

/** Explicit requests to remember are stored whatever their content. */
const remember = new RegExp(
  `${please}(?:remember|note|don't forget|do not forget|keep in mind|bear in mind|memori[sz]e|save)(?: this)?(?: for (?:later|me))?(?::|,)?(?: that)?\\s+(.{2,${maxRemembered}})$`,
  'iu',
)

/** Statements about the current conversation, ignored unless the user asks to remember them. */
const passing =
  /^(?:i (?:have|use|run|like|love) (?:a |an |the |some )?(?:question|problem|look|idea|error|issue|this|that|these|it|how|to )|my (?:question|problem|request|input|message|last|first|next)\b|i(?:'m| am) an? (?:bit|little|lot))/iu

export function findByPatterns(text: string): NewMemory[] {
  return toSentences(text).flatMap((sentence): NewMemory[] => {
    const request = remember.exec(sentence)?.[1]
    const statement = (request ?? sentence).trim()
    if (statement.endsWith('?') || (request === undefined && passing.test(statement))) return []
    const memory = firstRule(statement) ?? (request === undefined ? undefined : { kind: 'fact' as const, content: toThirdPerson(request) })
    return memory ? [{ ...memory, origin: 'user' }] : []
  })
}

function firstRule(sentence: string): { kind: MemoryKind; content: string } | undefined {
  for (const { kind, pattern, content } of rules) {
    const parts = pattern.exec(sentence)
    if (parts) return { kind, content: content.replace(/\$(\d)/g, (_, at: string) => toWords(parts[Number(at)] ?? '')) }
  }
  return undefined
}

function toWords(pattern: string): string {
  return thirdPerson[pattern.toLowerCase()] ?? shift(pattern.trim())
}

/** Splits a message into sentences without quoted and pasted text. */
function toSentences(text: string): string[] {
  const ownText = text.replace(/```[^]*?(?:```|$)/g, '\n').replace(/^[^\S\n]*>.*$/gm, '')
  if (ownText.length > maxMessage) return []
  const sentences = ownText.split(/(?<=[.!?])\s+|\n+|;\s+/).map((sentence) => sentence.trim())
  // "I live in Rome and my name is Ada" holds two statements.
  return sentences.flatMap((sentence) =>
    sentence.split(/(?:,|(?<!\s))\s+(?:and|but)\s+(?=(?:i|i'm|my|always|never|please|remember|call)\b)/i),
  )
}

/** Rewrites a sentence in the third person: "my dog is Rex" becomes "The user's dog is Rex". */
function toThirdPerson(pattern: string): string {
  const shifted = shift(pattern.replace(/(?<![.!\s])[.!\s]+$/, ''))
  return `${shifted.charAt(0).toUpperCase()}${shifted.slice(1)}.`
}

const pronouns: [RegExp, string][] = [
  [/\b(?:i am|i'm)\b/gi, 'the user is'],
  [/\bi have\b/gi, 'the user has'],
  [/\bmy\b/gi, "the user's"],
  [/\bmine\b/gi, "the user's"],
  [/\b(?:me|myself)\b/gi, 'the user'],
  [/\bi\b/gi, 'the user'],
]

function shift(pattern: string): string {
  return pronouns.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), pattern)
}
