import { maxContentCharacters, type NewMemory } from './memory.ts'

/**
 * Cleans a sentence for storage: one line without control characters or angle brackets, so that the sentence cannot
 * leave its place in a prompt. Undefined when no text remains or the sentence holds a secret.
 */
export function toContent(text: string): string | undefined {
  const line = text
    .toWellFormed()
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
  if (!/[\p{L}\p{N}]/u.test(line) || holdsSecret(line)) return undefined
  if (line.length <= maxContentCharacters) return line
  const short = line.slice(0, maxContentCharacters - 2).toWellFormed()
  const word = short.lastIndexOf(' ')
  return `${word > short.length / 2 ? short.slice(0, word) : short} …`
}

/** The memories that may be stored, without duplicates. */
export function toMemories(candidates: readonly NewMemory[], limit: number): NewMemory[] {
  const memories = new Map<string, NewMemory>()
  for (const memory of candidates) {
    const content = toContent(memory.content)
    if (content !== undefined && !memories.has(content.toLowerCase())) memories.set(content.toLowerCase(), { ...memory, content })
  }
  return [...memories.values()].slice(0, limit)
}

/** A word for a secret right before its value, in the languages of most callers. */
const secretPattern =
  /(?:pass(?:word|wd|phrase|code)|pwd|passwor[dt]|kennwort|mot de passe|contrase[ñn]a|senha|secret|credential|api[\s_-]?key|access[\s_-]?key|private[\s_-]?key|token|bearer|\bpin\b|\bcvv?c?\b|\bssn\b|social security)[^.!?]{0,40}?(?:\bis\b|\bare\b|\bist\b|\best\b|\bes\b|=|:)\s*\S/iu

const keyPatterns = [
  /-----BEGIN [A-Z ]*KEY/,
  // JSON Web Token.
  /\beyJ[\w-]{8,}\.[\w-]{8,}/,
  // Keys of well-known services: OpenAI and others, AWS, GitHub, GitLab, Slack, Google, Stripe.
  /\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[\w-]{16,}/i,
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/,
  /\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AIza)[\w-]{10,}/,
  // US social security number.
  /\b\d{3}-\d{2}-\d{4}\b/,
  // Credentials in an address.
  /:\/\/[^\s/:@]+:[^\s/@]+@/,
]

/**
 * True when a text seems to hold a key, a password or a card number. False positives are fine: stored memories are
 * shown again and again.
 */
export function holdsSecret(text: string): boolean {
  return secretPattern.test(text) || keyPatterns.some((shape) => shape.test(text)) || holdsCardNumber(text) || holdsRandomWord(text)
}

/** ISO/IEC 7812: 13 to 19 digits with a valid Luhn sum. */
function holdsCardNumber(text: string): boolean {
  return (text.match(/\d(?:[ -]?\d){12,18}/g) ?? []).some((number) => {
    const digits = Array.from(number.replace(/\D/g, ''), Number).toReversed()
    const sum = digits.reduce((all, digit, at) => all + (at % 2 === 0 ? digit : digit * 2 - (digit > 4 ? 9 : 0)), 0)
    return sum % 10 === 0
  })
}

/**
 * True for a long word of digits and letters in both cases, which is most likely a key; ids and addresses have
 * separators.
 */
function holdsRandomWord(text: string): boolean {
  return (text.match(/[A-Za-z0-9+/=_-]{20,}/g) ?? []).some((word) => {
    const runs = word.match(/[A-Z]+|[a-z]+|\d+/g)?.length ?? 0
    return /[a-z]/.test(word) && /[A-Z]/.test(word) && /\d/.test(word) && runs >= 6
  })
}
