import { useDeferredValue, useMemo, useState } from 'react'
import { AgentCoreError } from '../../../client/src/index.ts'
import { statusOf } from '../api/errors.ts'
import { notify } from '../parts/notify.ts'
import { differencesOf, type Difference } from './difference.ts'
import { usePutText, type Update } from './queries.ts'
import { findFaults, parseText, type Fault } from './schema/faults.ts'
import type { SchemaNode } from './schema/schema-node.ts'
import { serviceFaults } from './service-faults.ts'
import type { EditedText } from './use-draft.ts'

/** The state of the edited text, and the actions on the text. */
export interface Review {
  /** Faults against the schema, and faults from the service's check of the same text. */
  faults: readonly Fault[]
  /** Undefined while the text is not YAML. */
  differences: readonly Difference[] | undefined
  /** Result of the check of this very text. */
  check: Update | undefined
  /** Why the check or the save failed, except for faults of the text. */
  error: unknown
  notice: string | undefined
  isChecking: boolean
  isSaving: boolean
  runCheck(): void
  /** `override`: the reason to save although the gate refuses. */
  save(mode: 'file' | 'memory', override?: string): void
}

/** Checks and saves the edited text. A result counts only for the text and the version that it was made with. */
export function useReview(edited: EditedText, schema: SchemaNode): Review {
  const { text, base } = edited
  const [notice, setNotice] = useState<{ text: string; message: string }>()
  const checking = usePutText()
  const saving = usePutText(edited.rebase)
  const shownText = useDeferredValue(text)
  const parsed = useMemo(() => parseText(shownText), [shownText])
  const found = useMemo(() => findFaults(parsed, schema), [parsed, schema])
  const differences = useMemo(() => differencesOf(base.text, shownText), [base.text, shownText])

  const isOfText = (put: typeof checking): boolean => put.variables?.text === text && put.variables.version === base.version
  const failure = [saving, checking].find((put) => put.error !== null && put.variables?.text === text)?.error
  const stated = failure instanceof AgentCoreError && shownText === text ? serviceFaults(failure, parsed) : []
  const statedPaths = new Set(stated.map(({ path }) => path))
  const faults = useMemo(() => [...stated, ...found.filter(({ path }) => !statedPaths.has(path))], [failure, found, shownText === text])

  return {
    faults,
    differences,
    check: isOfText(checking) && edited.newer === undefined ? checking.data : undefined,
    error: stated.length > 0 || isConflict(failure, edited) ? undefined : failure,
    notice: notice?.text === text ? notice.message : undefined,
    isChecking: checking.isPending,
    isSaving: saving.isPending,
    runCheck() {
      if (checking.isPending || saving.isPending || !edited.isChanged) return
      saving.reset()
      setNotice(undefined)
      checking.mutate({ text, version: base.version, mode: 'check' })
    },
    save(mode, override) {
      saving.mutate(
        { text, version: base.version, mode, override },
        {
          onSuccess: ({ message }) => {
            notify(message)
            if (mode === 'memory') setNotice({ text, message: 'In use, in memory only. The draft is not stored.' })
          },
        },
      )
    },
  }
}

/** A refusal with 412 is shown as the conflict, with the difference. */
function isConflict(failure: unknown, { newer }: EditedText): boolean {
  return statusOf(failure) === 412 && newer !== undefined
}
