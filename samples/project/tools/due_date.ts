import { defineTool } from 'agent-core'

// A tool of your own. Save this file while the service runs: the next chat uses the saved version.
export default defineTool({
  // The model decides by this text alone when to use the tool.
  description: 'Gives the due date: the date that is a number of working days (Monday to Friday) after another date, ignoring public holidays.',
  // JSON Schema of the input. Input that does not match never reaches execute.
  schema: {
    type: 'object',
    properties: {
      date: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'The date from which days are counted, such as 2026-01-31.' },
      working_days: { type: 'integer', minimum: 1, maximum: 1000, description: 'The number of working days.' },
    },
    required: ['date', 'working_days'],
    additionalProperties: false,
  },
  // 'read': the tool changes nothing, so a call may be repeated after a crash. 'write': a call is executed at most once.
  effect: 'read',
  // Returns any JSON value. The message of a thrown error goes to the model, which may try again with another input.
  async execute({ date, working_days }, { log }) {
    const day = new Date(date)
    if (Number.isNaN(day.getTime())) throw new Error(`There is no day ${date}.`)
    for (let rest = working_days; rest > 0; ) {
      day.setUTCDate(day.getUTCDate() + 1)
      if (day.getUTCDay() !== 0 && day.getUTCDay() !== 6) rest--
    }
    log(`${working_days} working days after ${date}`)
    const weekday = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(day)
    return { due_date: day.toISOString().slice(0, 10), weekday }
  },
})
