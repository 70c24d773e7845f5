import { setImmediate as tick } from 'node:timers/promises'

/**
 * A regular expression that is matched in time proportional to the text, whatever the pattern: all positions in the pattern are followed at
 * once. Written by operators, matched against answers of models. Groups are not captured; look-around and back-references are refused.
 */
export class LinearPattern {
  private readonly program: readonly Instruction[]
  private readonly ignoresCase: boolean

  /** Throws an `Error` that says what the pattern has and this form does not. */
  constructor(pattern: string, { ignoreCase = false } = {}) {
    if (pattern.length > maxPattern) throw new Error(`the pattern has ${pattern.length} characters; ${maxPattern} are the most`)
    // The engine of the platform knows every fault of syntax.
    const { source } = new RegExp(pattern, 'u')
    this.ignoresCase = ignoreCase
    this.program = [...new Compiler(source, ignoreCase).compile(), { type: 'match' }]
  }

  /** Why a pattern is refused, as a clause; undefined for one that is taken. */
  static faultOf(pattern: string): string | undefined {
    try {
      return new LinearPattern(pattern).program.length === 0 ? 'the pattern is empty' : undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  /** True where the pattern matches a part of the text. Other work of the process goes on in between. Throws for more than `maxSteps`. */
  async test(text: string): Promise<boolean> {
    const characters = Array.from(text)
    const states = new States(this.program.length)
    for (let at = 0, pauseAt = stepsAtOnce; at <= characters.length; at++) {
      this.follow(0, at, characters, states)
      if (states.current.some((index) => this.program[index]!.type === 'match')) return true
      const character = characters[at]
      if (character === undefined) return false
      const folded = this.ignoresCase ? character.toLowerCase() : character
      for (const index of states.advance()) {
        const step = this.program[index]!
        if (step.type === 'set' && step.has(folded)) this.follow(index + 1, at + 1, characters, states)
      }
      if (states.steps < pauseAt) continue
      if (states.steps > maxSteps) throw new Error('the pattern repeats too much for an answer of this length')
      pauseAt = states.steps + stepsAtOnce
      await tick()
    }
    return false
  }

  /** Adds the instructions that are reached without a character. `at`: the position behind which the instructions go on. */
  private follow(first: number, at: number, characters: readonly string[], states: States): void {
    const open = [first]
    while (open.length > 0) {
      const index = open.pop()!
      if (!states.add(index, at)) continue
      const step = this.program[index]!
      if (step.type === 'jump') open.push(...step.to.map((distance) => index + distance))
      else if (step.type === 'check' && step.holds(characters[at - 1], characters[at])) open.push(index + 1)
    }
  }
}

/** Instructions that are followed without a pause, and for one text. */
const stepsAtOnce = 20_000
const maxSteps = 20_000_000

/** The instructions that are followed at one position of a text. */
class States {
  current: number[] = []
  steps = 0
  /** The last position at which each instruction was added. */
  private readonly positions: Int32Array

  constructor(instructions: number) {
    this.positions = new Int32Array(instructions).fill(-1)
  }

  /** False for an instruction that is followed already. */
  add(index: number, at: number): boolean {
    this.steps++
    if (this.positions[index] === at) return false
    this.positions[index] = at
    this.current.push(index)
    return true
  }

  /** Begins the next position. Returns the instructions of this one. */
  advance(): number[] {
    const { current } = this
    this.current = []
    return current
  }
}

const maxPattern = 1000
/** Instructions of a pattern: `(a{99}){99}` is short and large. */
const maxInstructions = 5000

/** Distances are relative, so that a part of a program can be repeated. */
type Instruction =
  | { type: 'set'; has(character: string): boolean }
  | { type: 'jump'; to: readonly number[] }
  | { type: 'check'; holds(before: string | undefined, after: string | undefined): boolean }
  | { type: 'match' }

const isWord = (character: string | undefined) => character !== undefined && /\w/.test(character)

class Compiler {
  private readonly pattern: string
  private readonly flags: string
  private at = 0

  constructor(pattern: string, ignoreCase: boolean) {
    this.pattern = pattern
    this.flags = ignoreCase ? 'iu' : 'u'
  }

  compile(): Instruction[] {
    return this.alternatives()
  }

  private alternatives(): Instruction[] {
    const first = this.sequence()
    if (this.pattern[this.at] !== '|') return first
    this.at++
    const second = this.alternatives()
    return limited([{ type: 'jump', to: [1, first.length + 2] }, ...first, { type: 'jump', to: [second.length + 1] }, ...second])
  }

  private sequence(): Instruction[] {
    const steps: Instruction[] = []
    while (this.at < this.pattern.length && !'|)'.includes(this.pattern[this.at]!)) steps.push(...this.repeated(this.atom()))
    return limited(steps)
  }

  private repeated(atom: Instruction[]): Instruction[] {
    const [text, min, max] = this.quantifier()
    this.at += text.length
    if (text === '') return atom
    // A lazy quantifier matches the same texts.
    if (this.pattern[this.at] === '?') this.at++
    const optional: Instruction[] = [{ type: 'jump', to: [1, atom.length + 1] }, ...atom]
    const loop: Instruction[] = [{ type: 'jump', to: [1, atom.length + 2] }, ...atom, { type: 'jump', to: [-atom.length - 1] }]
    const copies = min + (max === Infinity ? 1 : max - min)
    if (copies * (atom.length + 1) > maxInstructions) throw tooLarge()
    const required = Array.from({ length: min }, () => atom).flat()
    return limited([...required, ...(max === Infinity ? loop : Array.from({ length: max - min }, () => optional).flat())])
  }

  private quantifier(): [string, number, number] {
    const [text = '', min, comma, max] = /^(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})/.exec(this.pattern.slice(this.at)) ?? []
    if (text === '*' || text === '+') return [text, text === '+' ? 1 : 0, Infinity]
    if (text === '?' || text === '') return [text, 0, 1]
    return [text, Number(min), comma === undefined ? Number(min) : max === '' ? Infinity : Number(max)]
  }

  private atom(): Instruction[] {
    const rest = this.pattern.slice(this.at)
    if (rest.startsWith('(')) return this.group()
    if (rest.startsWith('^')) return this.check(1, (before) => before === undefined)
    if (rest.startsWith('$')) return this.check(1, (_before, after) => after === undefined)
    if (rest.startsWith('\\b')) return this.check(2, (before, after) => isWord(before) !== isWord(after))
    if (rest.startsWith('\\B')) return this.check(2, (before, after) => isWord(before) === isWord(after))
    if (/^\\(?:[1-9]|k<)/.test(rest)) throw new Error('a back-reference is not taken')
    const [source = ''] = /^(?:\[(?:\\[^]|[^\]\\])*\]|\\u\{[^}]*\}|\\u....|\\x..|\\c.|\\[pP]\{[^}]*\}|\\[^]|[^])/u.exec(rest) ?? []
    this.at += source.length
    // The platform decides on a single character in constant time.
    const single = new RegExp(`^${source}$`, this.flags)
    return [{ type: 'set', has: (character) => single.test(character) }]
  }

  private group(): Instruction[] {
    const [opening = '('] = /^\((?:\?(?::|<[A-Za-z_]\w*>|<?[=!]))?/.exec(this.pattern.slice(this.at)) ?? []
    if (/[=!]$/.test(opening)) throw new Error('look-around is not taken')
    this.at += opening.length
    const steps = this.alternatives()
    this.at++
    return steps
  }

  private check(length: number, holds: Extract<Instruction, { type: 'check' }>['holds']): Instruction[] {
    this.at += length
    return [{ type: 'check', holds }]
  }
}

function limited(steps: Instruction[]): Instruction[] {
  if (steps.length > maxInstructions) throw tooLarge()
  return steps
}

function tooLarge(): Error {
  return new Error('the pattern repeats too much')
}
