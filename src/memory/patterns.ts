import type { MemoryKind, NewMemory } from './memory.ts'

/** What a person says of themselves, found by simple patterns: for the embedded model, and where a model's answer can't be read. */

/** Whoever writes more brings material, which is not about them. */
const maxTold = 2000
/** What is longer is told about something else. */
const maxValue = 160
const maxAsked = 300

interface Rule {
  kind: MemoryKind
  said: RegExp
  /** `$1` and so on stand for what was said. */
  content: string
}

const value = `([^.!?\\n]{1,${maxValue}}?)`
const end = '\\s*[.!]*$'
const please =
  "^(?:please\\s+|and\\s+|also\\s+|well,?\\s+|hi,?\\s+|hello,?\\s+|by the way,?\\s+|fyi,?\\s+|from now on,?\\s+|in (?:the )?future,?\\s+|i(?:'d| would) like you to\\s+)*"

function rule(kind: MemoryKind, said: string, content: string): Rule {
  return { kind, said: new RegExp(`${please}${said}${end}`, 'iu'), content }
}

/** In order: the first that fits a sentence is taken. */
const rules: Rule[] = [
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

/** What is asked to be remembered is kept, whatever it is. */
const remember = new RegExp(
  `${please}(?:remember|note|don't forget|do not forget|keep in mind|bear in mind|memori[sz]e|save)(?: this)?(?: for (?:later|me))?(?::|,)?(?: that)?\\s+(.{2,${maxAsked}})$`,
  'iu',
)

/** What begins so is about this conversation, unless it is asked to be remembered. */
const passing =
  /^(?:i (?:have|use|run|like|love) (?:a |an |the |some )?(?:question|problem|look|idea|error|issue|this|that|these|it|how|to )|my (?:question|problem|request|input|message|last|first|next)\b|i(?:'m| am) an? (?:bit|little|lot))/iu

export function findByPatterns(text: string): NewMemory[] {
  return toSentences(text).flatMap((sentence): NewMemory[] => {
    const asked = remember.exec(sentence)?.[1]
    const told = (asked ?? sentence).trim()
    if (told.endsWith('?') || (asked === undefined && passing.test(told))) return []
    const found = firstRule(told) ?? (asked === undefined ? undefined : { kind: 'fact' as const, content: toThirdPerson(asked) })
    return found ? [{ ...found, origin: 'user' }] : []
  })
}

function firstRule(sentence: string): { kind: MemoryKind; content: string } | undefined {
  for (const { kind, said, content } of rules) {
    const parts = said.exec(sentence)
    if (parts) return { kind, content: content.replace(/\$(\d)/g, (_, at: string) => toWords(parts[Number(at)] ?? '')) }
  }
  return undefined
}

function toWords(said: string): string {
  return thirdPerson[said.toLowerCase()] ?? shift(said.trim())
}

/** What was quoted or pasted is nobody's word about themselves. */
function toSentences(text: string): string[] {
  const own = text.replace(/```[^]*?(?:```|$)/g, '\n').replace(/^[^\S\n]*>.*$/gm, '')
  if (own.length > maxTold) return []
  const sentences = own.split(/(?<=[.!?])\s+|\n+|;\s+/).map((sentence) => sentence.trim())
  // "I live in Rome and my name is Ada" tells two things.
  return sentences.flatMap((sentence) =>
    sentence.split(/(?:,|(?<!\s))\s+(?:and|but)\s+(?=(?:i|i'm|my|always|never|please|remember|call)\b)/i),
  )
}

/** As somebody else would say it: "my dog is Rex" is "The user's dog is Rex". */
function toThirdPerson(said: string): string {
  const shifted = shift(said.replace(/(?<![.!\s])[.!\s]+$/, ''))
  return `${shifted.charAt(0).toUpperCase()}${shifted.slice(1)}.`
}

const others: [RegExp, string][] = [
  [/\b(?:i am|i'm)\b/gi, 'the user is'],
  [/\bi have\b/gi, 'the user has'],
  [/\bmy\b/gi, "the user's"],
  [/\bmine\b/gi, "the user's"],
  [/\b(?:me|myself)\b/gi, 'the user'],
  [/\bi\b/gi, 'the user'],
]

function shift(said: string): string {
  return others.reduce((text, [from, to]) => text.replace(from, to), said)
}
