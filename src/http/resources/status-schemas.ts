import { Type } from 'typebox'
import { named } from '../openapi/named.ts'

/** Schemas of the health of the service. */

const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

export const Check = named(
  'Check',
  Type.Object(
    {
      name: Type.String({
        description:
          'The checked part: settings, data_directory, store, secrets, artifacts, configuration, files, models, tools, knowledge or outbound.',
      }),
      status: Type.Enum(['ok', 'warning', 'error']),
      message: Type.String(),
      remedy: Type.Optional(Type.String({ description: 'What to do about it.' })),
    },
    {
      description: 'The result of a check.',
    },
  ),
)

export const Replica = named(
  'Replica',
  Type.Object(
    {
      id: Type.String({ description: 'The holder of its runs.' }),
      host: nullableText('The name of its machine; null for a process of a former version.'),
      version: nullableText('The version of its program; null for a process of a former version.'),
      started_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
      last_seen_at: Type.String({ format: 'date-time', description: 'The last renewal of its lease.' }),
      is_alive: Type.Boolean({ description: 'False: the process was lost without stopping. It is listed for a day.' }),
      runs: Type.Integer({ description: 'Runs that it executes.' }),
    },
    {
      description: 'A process of the service.',
    },
  ),
)

export const JobCounts = named(
  'JobCounts',
  Type.Object(
    {
      due: Type.Integer({ description: 'Wait for a worker.' }),
      scheduled: Type.Integer({ description: 'Wait for their time.' }),
      running: Type.Integer(),
      failed: Type.Integer({ description: 'Have failed and wait for their next try. Of the kind `given_up`: failed for too long.' }),
    },
    { description: 'Numbers of jobs of a kind.' },
  ),
)

export const ServiceStatus = named(
  'ServiceStatus',
  Type.Object(
    {
      version: Type.String({ description: 'The version of the process that answers.' }),
      checked_at: Type.String({ format: 'date-time', description: 'The time of the answer, which is cached.' }),
      checks: Type.Array(Check),
      replicas: Type.Array(Replica),
      jobs: Type.Record(Type.String(), JobCounts, { description: 'By kind, such as `callback`.' }),
    },
    { description: 'The health of the whole service.' },
  ),
)
