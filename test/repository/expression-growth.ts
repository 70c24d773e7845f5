import { RegExpParser, type AST } from '@eslint-community/regexpp'

/**
 * Measures whether an expression takes time beyond proportion to the length of a text. The texts are made from the expression itself:
 * what stands before a quantifier, then one character or one pass of what is before it again and again, then something that does not fit.
 */

/** Characters that stand for the classes of expressions. */
const alphabet = [
  'a',
  'Z',
  '0',
  ' ',
  '\n',
  '\t',
  '.',
  ',',
  '-',
  '_',
  '/',
  '\\',
  ':',
  ';',
  '"',
  "'",
  '`',
  '<',
  '>',
  '(',
  '[',
  '*',
  '#',
  '?',
  '!',
  '=',
  '@',
  '{',
  '“',
  'é',
  '一',
  '\0',
] as const
const suffixes = ['', '\0', '\n\0'] as const
const long = 10_000
/** Processor time for a short text that only an exponential expression takes. */
const suspiciousMs = 15
/** Processor time for the long text from which the growth is measured: 0.5 microseconds per character, low enough for a fast machine. */
const measuredMs = 5
/** Processor time that shows a growth clearly. */
const clearMs = 50
/** A search of five million steps. What takes less is not slow, however slow the machine is at the moment. */
const reference = { regex: /a.*b/, text: 'a'.repeat(3200) }
/** A linear expression takes 4 times as long for 4 times the text, a quadratic one 16 times. */
const growth = 8

/** A text on which the expression takes too long, as its repeated part; undefined where none was found. */
export function findSlowText(source: string, flags: string): string | undefined {
  const regex = new RegExp(source, flags)
  for (const { prefix, pump } of attacks(source, flags)) {
    for (const suffix of suffixes) {
      const make = (length: number) => prefix + pump.repeat(Math.ceil(length / pump.length)) + suffix
      if (isSlow(regex, make)) return JSON.stringify({ prefix, pump, suffix })
    }
  }
  return undefined
}

function isSlow(regex: RegExp, make: (length: number) => string): boolean {
  // An exponential expression does not come to long texts.
  for (const length of [16, 24, 32, 200]) if (timeOf(regex, make(length)) > suspiciousMs) return timeOf(regex, make(length)) > suspiciousMs
  if (timeOf(regex, make(long)) < measuredMs) return false
  // What a busy machine adds once it does not add each time.
  const least = (text: string, by = regex) => Math.min(...[1, 2, 3].map(() => timeOf(by, text)))
  const slow = least(make(long))
  if (slow < measuredMs || slow < least(reference.text, reference.regex) || slow < growth * least(make(long / 4))) return false
  // Some systems count processor time in steps of 10 ms, beside which the shorter text takes no time.
  return slow > clearMs || least(make(4 * long)) > growth * slow
}

/** Milliseconds of processor time to search a text, all of it where the expression is global. */
function timeOf(regex: RegExp, text: string): number {
  const before = process.cpuUsage()
  text.replace(regex, '')
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

interface Attack {
  prefix: string
  pump: string
}

function attacks(source: string, flags: string): Attack[] {
  const unicode = { unicode: flags.includes('u'), unicodeSets: flags.includes('v') }
  const { alternatives } = new RegExpParser().parsePattern(source, 0, source.length, unicode)
  const repeats: Repeat[] = []
  for (const alternative of alternatives) collect(alternative, '', repeats, createSampler(flags))
  // A character of the expression may begin a match that does not come to its end.
  const pumps = new Set([...repeats.flatMap((repeat) => repeat.pumps), ...(repeats.length > 0 ? (source.match(/[^\w\s\\]/g) ?? []) : [])])
  const prefixes = new Set(repeats.flatMap(({ before, through }) => [before, through]))
  const passes = [...prefixes].filter((prefix) => prefix !== '').flatMap((prefix) => [prefix, `${prefix} `])
  return [
    ...[...pumps, ...passes].map((pump) => ({ prefix: '', pump })),
    ...repeats.flatMap(({ before, through, pumps: own }) => own.flatMap((pump) => [before, through].map((prefix) => ({ prefix, pump })))),
  ]
}

/** A quantifier without a bound: the texts with which the expression comes to it and through it, and what it may repeat. */
interface Repeat {
  before: string
  through: string
  pumps: string[]
}

interface Sampler {
  one(element: AST.Element | AST.Alternative): string
  /** All characters of the alphabet that fit the element. */
  all(element: AST.Element): string[]
}

function collect(alternative: AST.Alternative, before: string, repeats: Repeat[], sample: Sampler): void {
  let text = before
  for (const element of alternative.elements) {
    const through = text + sample.one(element)
    const inner = element.type === 'Quantifier' ? element.element : element
    if (element.type === 'Quantifier' && element.max > maxCounted) {
      const pumps = new Set([...elementsIn(inner).flatMap(sample.all), sample.one(inner)])
      repeats.push({ before: text, through, pumps: [...pumps].filter((pump) => pump !== '') })
    }
    if (inner.type === 'Group' || inner.type === 'CapturingGroup') {
      for (const each of inner.alternatives) collect(each, text, repeats, sample)
    }
    text = through
  }
}

function elementsIn(element: AST.Element): AST.Element[] {
  if (element.type === 'Quantifier') return elementsIn(element.element)
  const isGroup = element.type === 'Group' || element.type === 'CapturingGroup'
  return isGroup ? element.alternatives.flatMap(({ elements }) => elements.flatMap(elementsIn)) : [element]
}

/** A quantifier up to so many is no quantifier for this: it bounds the work itself. */
const maxCounted = 100

function createSampler(flags: string): Sampler {
  const inner = flags.replace(/[gy]/g, '')
  const all = (element: AST.Element) => {
    const { raw } = element
    const fits = new RegExp(`^(?:${raw})$`, inner)
    return isClass(element) ? alphabet.filter((character) => fits.test(character)) : []
  }
  function one(element: AST.Element | AST.Alternative): string {
    switch (element.type) {
      case 'Alternative':
        return element.elements.map(one).join('')
      case 'Quantifier':
        return one(element.element).repeat(Math.max(1, element.min))
      case 'Group':
      case 'CapturingGroup':
        return element.alternatives.slice(0, 1).map(one).join('')
      case 'Character':
        return String.fromCodePoint(element.value)
      default:
        return isClass(element) ? (all(element)[0] ?? '') : ''
    }
  }
  return { one, all }
}

function isClass({ type }: AST.Element): boolean {
  return type === 'CharacterClass' || type === 'CharacterSet' || type === 'ExpressionCharacterClass'
}
