/** Splits a message into the question, its parts, and the texts sent with the question. */

export interface Section {
  /** File of the section, if any. */
  file?: string
  /** True for the rows of a table, each a paragraph. */
  isRows?: boolean
  heading: string
  text: string
}

export interface ParsedMessage {
  parts: string[]
  /** Texts before or after the question in the same message. */
  sections: Section[]
}

/** Limit of a question. A longer message contains texts too. */
const questionCharacters = 600

export function readMessage(text: string): ParsedMessage {
  const trimmed = text.trim()
  if (trimmed.length <= questionCharacters && !/^[^\S\n]*(#|```|---)/m.test(trimmed)) return { parts: splitParts(trimmed), sections: [] }
  const blocks = trimmed.split(/\n\s*\n/)
  const first = blocks[0]!
  const last = blocks.at(-1)!
  const asksFirst = blocks.length > 1 && first.length <= questionCharacters && /[?:]\s*$/.test(first) && !/[?]\s*$/.test(last)
  const questionBlock = asksFirst ? first : last
  const textBlocks = asksFirst ? blocks.slice(1) : blocks.slice(0, -1)
  const question = questionBlock
    .replace(/^#.*$/gm, '')
    .trim()
    .slice(0, questionCharacters * 4)
  return { parts: splitParts(question || questionBlock.slice(0, questionCharacters)), sections: toSections(textBlocks.join('\n\n')) }
}

/** Splits Markdown at its headings. */
export function toSections(text: string): Section[] {
  const sections: Section[] = []
  let current: Section = { heading: '', text: '' }
  for (const line of text.split('\n')) {
    const heading = /^#{1,6}\s+(.*)$/.exec(line)?.[1]
    if (heading !== undefined) {
      sections.push(current)
      current = { heading: heading.trim(), text: '' }
    } else current.text += `${line}\n`
  }
  return [...sections, current].filter((section) => section.text.trim() !== '')
}

const verbs =
  'what|how|who|when|where|which|why|whose|is there|are there|do we|do i|can i|list|show|tell|calculate|compute|search|read|find|give|convert|compare|open|look up|add|multiply|divide'
const borders = new RegExp(
  [
    '(?<=[?!])\\s+',
    '(?<=\\p{L}{2}[.])\\s+(?=\\p{Lu})',
    '\\s*;\\s*',
    '\\n+\\s*(?:[-*]|\\d+[.)])?\\s*',
    ',?\\s+and\\s+(?:then|also|after that|finally)\\b,?\\s*',
    ',\\s*(?:then|also|after that|finally)\\s+',
    `,?\\s+and\\s+(?=(?:${verbs})\\b)`,
  ].join('|'),
  'iu',
)

/** Splits a text into requests, in order. Quoted text is never split. */
export function splitParts(text: string): string[] {
  const quotes: string[] = []
  const masked = text.replace(/"[^"\n]*"|“[^”\n]*”|`[^`\n]*`/g, (quote) => `\uE000${quotes.push(quote) - 1}\uE001`)
  const parts = masked.split(borders).map((part, at) => {
    const whole = part.replace(/\uE000(\d+)\uE001/g, (_, index: string) => quotes[Number(index)] ?? '').trim()
    return at === 0 ? whole : whole.replace(/^(?:and|also|then|after that|finally)\b(?:,\s*|\s+)(?!(?:for|in|by)\b)/i, '').trim()
  })
  return parts.filter((part) => /[\p{L}\p{N}]/u.test(part)).slice(0, 8)
}

/** True for a part that needs the question before: "and for the South?". */
export function isFollowUp(part: string): boolean {
  const words = part.trim().split(/\s+/).length
  if (/^(and |so |ok |okay )?(what|how) about\b/i.test(part)) return words <= 12
  if (/^(and|or|but|now|same|the same|only|just|instead)\b/i.test(part))
    return words <= 9 && !/^(and|now)\s+(what|how|who|when|where|which|list|show|read|search|tell)\b/i.test(part)
  return words <= 5 && /^(for|in|by|per|of|without|with|except|excluding|since|before|after)\b/i.test(part)
}

/** True for a part that needs the figure of the part before. */
export function isDependent(part: string): boolean {
  return (
    /\b(of|from|to|by|with|double|half|twice|add|subtract|multiply|divide)\b.*\b(that|it|this|the (result|total|sum|answer))\b|\b(that|it|the (result|total|answer))\b (plus|minus|times|divided|multiplied|squared)/i.test(
      part,
    ) && /\d|%|half|double|twice|third|quarter|squared|square root/i.test(part)
  )
}

/** Recognises greetings, thanks and questions about capabilities. */
export function smallTalk(text: string): 'greeting' | 'thanks' | 'capabilities' | undefined {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/[!.,?]+/g, '')
    .replace(/\s+/g, ' ')
  if (
    /^(hi|hello|hey|hallo|good (morning|afternoon|evening|day)|greetings|howdy)( there| everyone| you| agent)?( how are you)?$/.test(plain)
  )
    return 'greeting'
  if (
    /^(thanks|thank you|thx|many thanks|cheers|great|perfect|ok|okay|cool|bye|goodbye)( very much| a lot| so much| bye)?( thanks| thank you)?$/.test(
      plain,
    )
  )
    return 'thanks'
  if (
    /^(help|who are you|what are you|what can you do|what do you do|how can you help( me)?|what can i ask( you)?|which tools do you have|what tools do you have|what are your (tools|capabilities))( for me)?$/.test(
      plain,
    )
  )
    return 'capabilities'
  return undefined
}
