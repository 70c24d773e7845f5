import { createTool, type ToolBuild, type ToolSpec } from '../builder.ts'
import { createCalculatorProcesses, type CalculatorLimits } from './processes.ts'

const description =
  'Calculates a mathematical expression exactly and returns the result. Knows + - * / ^ %, percentages (17% of 2,340; 100 + 3%), ' +
  'parentheses, functions (sqrt, round, log, ln, sin, max, sum, mean ...), units (90 km/h to m/s), complex numbers and matrices.'

const schema = {
  type: 'object',
  properties: {
    expression: {
      type: 'string',
      minLength: 1,
      maxLength: 4000,
      description: 'For instance `17% of 2,340`, `(1 + 0.045)^10 * 1200` or `5 miles to km`.',
    },
  },
  required: ['expression'],
  additionalProperties: false,
}

/** Gives `{expression, result}`, the result as text so that no digit is lost on its way through JSON. */
export function createCalculator(spec: ToolSpec, _deps?: unknown, limits?: Partial<CalculatorLimits>): ToolBuild {
  const processes = createCalculatorProcesses(limits)
  const tool = createTool(spec, {
    description,
    schema,
    effect: 'read',
    filters: false,
    async execute(input, context) {
      const expression = String(input['expression'])
      return { expression, result: await processes.calculate(expression, context.signal) }
    },
  })
  return { tool, close: processes.close }
}
