import { hash } from 'node:crypto'
import type { JsonSchema } from '../../agent/messages.ts'
import { messageOf } from '../../errors.ts'
import { createAnswerSchemas, type SchemaFault } from '../../json/schema/answer-schema.ts'
import {
  createGuardedCompiler,
  UnusableSchema,
  type GuardedCheck,
  type GuardLimits,
  KeptChecks,
} from '../../json/schema/guarded-compiler.ts'
import { findEndlessCheck, createResolve, nodesOf } from '../../json/schema/schema-nodes.ts'
import { isDeeper } from '../../json/shape.ts'
import type { SchemaUse } from '../../runs/execution/ports.ts'
import { describeSchemaError } from '../builder.ts'

/** Checks of schemas and of values, which block until they end. All throw `SchemaTimeout`. */
export interface SchemaChecks {
  /** Why a schema cannot be used; undefined for a usable one. */
  faultOf(use: SchemaUse, schema: JsonSchema): SchemaFault | undefined
  /** The faults of a value as clauses; empty for a valid value. */
  faultsOf(use: SchemaUse, schema: JsonSchema, value: unknown): string[]
}

/** Limits of the schema of a tool's input. */
const inputLimits = { characters: 65_536, depth: 64 }

export function createSchemaChecks(limits: GuardLimits): SchemaChecks {
  const answers = createAnswerSchemas(limits)
  const compileInput = createGuardedCompiler(limits)
  /** By the hash of the schema's text. */
  const inputChecks = new KeptChecks<GuardedCheck>()

  /** Throws `UnusableSchema`. */
  function inputCheckOf(schema: JsonSchema): GuardedCheck {
    const text = JSON.stringify(schema)
    const key = hash('sha256', text)
    return inputChecks.find(key) ?? inputChecks.keep(key, compile(schema, text), text.length)
  }

  function compile(schema: JsonSchema, text: string): GuardedCheck {
    if (text.length > inputLimits.characters) throw new UnusableSchema(`has more than ${inputLimits.characters} characters`)
    if (isDeeper(schema, inputLimits.depth)) throw new UnusableSchema('is nested too deeply')
    const nodes = nodesOf(schema)
    if (findEndlessCheck(nodes, createResolve(nodes))) throw new UnusableSchema('refers to itself without end')
    return compileInput(schema)
  }

  return {
    faultOf(use, schema) {
      if (use === 'answer') return answers.faultOf(schema)
      try {
        inputCheckOf(schema)
        return undefined
      } catch (error) {
        if (error instanceof UnusableSchema) return { path: [], msg: `cannot be used: ${messageOf(error)}` }
        throw error
      }
    },
    faultsOf(use, schema, value) {
      if (use === 'answer') return answers.faultsOf(schema, value)
      const errors = inputCheckOf(schema)(value)
      return errors ? [describeSchemaError(errors[0])] : []
    },
  }
}
