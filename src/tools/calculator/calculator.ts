import { getCompileCacheDir } from 'node:module'
import { createQuestionPool } from '../../processes/question-pool.ts'
import { createTool, inputSchema, type ToolBuild, type ToolSpec } from '../builder.ts'
import type { Answer } from './worker.ts'

export interface CalculatorLimits {
  /** Time limit of an expression in milliseconds, from the moment when a process starts to work on the expression. */
  expressionMs: number
  /** Milliseconds without work after which a process, which holds about 100 MB, is ended. */
  idleMs: number
}

/** Ordinary expressions take far less than 2 s. Calls waiting for a few endless expressions keep most of their 30 s. */
const defaults: CalculatorLimits = { expressionMs: 2_000, idleMs: 300_000 }

const description =
  'Calculates a mathematical expression exactly and returns the result. Knows + - * / ^ %, percentages (17% of 2,340; 100 + 3%), ' +
  'parentheses, functions (sqrt, round, log, ln, sin, max, sum, mean ...), units (90 km/h to m/s), complex numbers and matrices.'

const schema = inputSchema(
  {
    expression: {
      type: 'string',
      minLength: 1,
      maxLength: 4000,
      description: 'For instance `17% of 2,340`, `(1 + 0.045)^10 * 1200` or `5 miles to km`.',
    },
  },
  ['expression'],
)

/** Returns `{expression, result}`, with the result as text so that no digit is lost in JSON. */
export function createCalculator(spec: ToolSpec, _deps?: unknown, limits: Partial<CalculatorLimits> = {}): ToolBuild {
  const { expressionMs, idleMs } = { ...defaults, ...limits }
  const compiledCode = getCompileCacheDir()
  const processes = createQuestionPool<{ expression: string }, Answer>({
    module: new URL('./worker', import.meta.url),
    // The compile cache of the service avoids compiling the library again: the first result then takes a third less time.
    env: compiledCode === undefined ? {} : { NODE_COMPILE_CACHE: compiledCode },
    // Generous for expressions (mathjs itself takes 40 MB), too small to harm the machine.
    limits: { dataKb: 700_000, heapMb: 192 },
    messages: { structure: 64 * 1024 },
    questionMs: expressionMs,
    idleMs,
    maxProcesses: 4,
    errorTexts: {
      timedOut: `The expression took longer than ${expressionMs / 1000} s.`,
      outOfMemory: 'The expression needs too much memory.',
      crashed: 'The calculator stopped unexpectedly.',
      closed: 'The calculator is closed.',
    },
  })
  const tool = createTool(spec, {
    description,
    schema,
    effect: 'read',
    async execute(input, context) {
      const expression = String(input['expression'])
      const answer = await processes.ask({ expression: toExpression(expression) }, context.signal, context.caller)
      if ('result' in answer) return { expression, result: answer.result }
      throw new Error(`The expression cannot be calculated: ${answer.error.replace(/\.$/, '')}.`)
    },
  })
  return { tool, close: processes.close }
}

/** Replaces spellings of people and models by the syntax of mathjs. */
const spellings: [RegExp, string][] = [
  [/[×·]/g, '*'],
  [/÷/g, '/'],
  [/[−–]/g, '-'],
  [/\*\*/g, '^'],
  [/√\s*(\d+(?:\.\d+)?)/g, 'sqrt($1)'],
  [/√\s*\(/g, 'sqrt('],
  [/%\s+of\b/gi, '% *'],
]

/** Matches a number with grouped thousands, a name or number, or any other character. */
const token = /(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,])|\w+|\S/g

/**
 * Accepts `17% of 2,340`, `3 × 4` and `2 ** 8`. Between a function's parentheses and in brackets a comma separates
 * (`max(1,200)`), elsewhere it may group thousands.
 */
export function toExpression(text: string): string {
  const spelled = spellings.reduce((spelt, [pattern, replacement]) => spelt.replace(pattern, replacement), text.trim())
  // For each open bracket: true if commas separate arguments or elements inside.
  const separates: boolean[] = []
  let previous = ''
  return spelled.replace(token, (part) => {
    if (part === '(') separates.push(/^[A-Za-z_]/.test(previous))
    else if (part === '[' || part === '{') separates.push(true)
    else if (part === ')' || part === ']' || part === '}') separates.pop()
    previous = part
    return part.length > 1 && !separates.at(-1) ? part.replaceAll(',', '') : part
  })
}
