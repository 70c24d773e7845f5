import type { Budget } from './queries.ts'

/** Scopes in words, in the order of agent.yaml. */
export const scopeLabels = {
  run: 'Each run',
  session: 'Each session',
  caller: 'Each caller',
  tenant: 'Each tenant',
  service: 'The service',
} as const

/** The subject of the limit: a text, and a longer text for the title. */
export function subjectOf({ scope, subject, sub, issuer }: Budget): { text: string; title: string } {
  const caller = sub === undefined ? '' : ` of ${sub}`
  const title = issuer === undefined ? subject : `${sub} (${issuer})`
  switch (scope) {
    case 'service':
      return { text: 'the whole service', title: '' }
    case 'tenant':
      return { text: `tenant ${subject}`, title: subject }
    case 'caller':
      return { text: sub ?? subject, title }
    default:
      return { text: `${scope} ${subject}${caller}`, title: `${subject} ${title}` }
  }
}

/** The name of the window for a change of the limit: ids of runs and sessions are unique within a caller. */
export function subjectKeyOf({ scope, subject, sub, issuer }: Budget): string {
  return (scope === 'run' || scope === 'session') && sub !== undefined ? `${subject} ${issuer} ${sub}` : subject
}
