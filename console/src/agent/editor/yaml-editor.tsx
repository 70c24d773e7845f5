import { autocompletion } from '@codemirror/autocomplete'
import { yaml } from '@codemirror/lang-yaml'
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { Annotation, Compartment, EditorState } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { useComputedColorScheme } from '@mantine/core'
import { basicSetup } from 'codemirror'
import { useEffect, useImperativeHandle, useRef, type Ref } from 'react'
import { styleNonce } from '../../api/style-nonce.ts'
import type { Fault } from '../schema/faults.ts'
import type { SchemaNode } from '../schema/schema-node.ts'
import { completeBySchema } from './completion.ts'
import { explainFields } from './field-tooltip.ts'
import { editorTheme } from './theme.ts'
import styles from './yaml-editor.module.css'

export interface EditorHandle {
  /** Selects a range and takes the focus. */
  reveal(from: number, to: number): void
}

interface YamlEditorProps {
  text: string
  schema: SchemaNode
  faults: readonly Fault[]
  isReadOnly: boolean
  onChange: (text: string) => void
  onCheck: () => void
  ref: Ref<EditorHandle>
}

const darkTheme = new Compartment()
/** Marks a change that did not come from the user. */
const fromOutside = Annotation.define<boolean>()

/** agent.yaml in CodeMirror, with completion, explanations and marks at faults. */
export function YamlEditor({ text, schema, faults, isReadOnly, onChange, onCheck, ref }: YamlEditorProps) {
  const parent = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const handlers = useRef({ onChange, onCheck })
  handlers.current = { onChange, onCheck }
  const isDark = useComputedColorScheme('light') === 'dark'

  useEffect(() => {
    const extensions = [
      keymap.of([{ key: 'Mod-s', preventDefault: true, run: () => (handlers.current.onCheck(), true) }]),
      EditorView.cspNonce.of(styleNonce),
      basicSetup,
      yaml(),
      autocompletion({ override: [completeBySchema(schema)], activateOnTypingDelay: 80 }),
      explainFields(schema),
      lintGutter(),
      editorTheme,
      darkTheme.of([]),
      EditorView.lineWrapping,
      EditorState.readOnly.of(isReadOnly),
      EditorView.contentAttributes.of({ 'aria-label': 'agent.yaml', ...(isReadOnly && { 'aria-readonly': 'true' }) }),
      EditorView.updateListener.of(({ docChanged, state, transactions }) => {
        const isOwn = !transactions.some((transaction) => transaction.annotation(fromOutside))
        if (docChanged && isOwn) handlers.current.onChange(state.doc.toString())
      }),
    ]
    view.current = new EditorView({ parent: parent.current!, state: EditorState.create({ extensions }) })
    return () => view.current?.destroy()
  }, [schema, isReadOnly])

  useEffect(() => replaceText(view.current!, text), [text, schema, isReadOnly])
  useEffect(() => {
    view.current?.dispatch({ effects: darkTheme.reconfigure(EditorView.darkTheme.of(isDark)) })
  }, [isDark, schema, isReadOnly])
  useEffect(() => {
    const { state } = view.current!
    view.current!.dispatch(
      setDiagnostics(
        state,
        faults.map((fault) => toDiagnostic(fault, state)),
      ),
    )
  }, [faults, schema, isReadOnly])
  useImperativeHandle(ref, () => ({ reveal: (from, to) => reveal(view.current!, from, to) }), [])

  return <div ref={parent} className={styles.editor} />
}

/** Changes only the differences, so that the cursor and the history of the editor stay. */
function replaceText(view: EditorView, text: string): void {
  const current = view.state.doc.toString()
  if (current === text) return
  const shorter = Math.min(current.length, text.length)
  let from = 0
  while (from < shorter && current[from] === text[from]) from++
  let tail = 0
  while (tail < shorter - from && current[current.length - 1 - tail] === text[text.length - 1 - tail]) tail++
  const changes = { from, to: current.length - tail, insert: text.slice(from, text.length - tail) }
  view.dispatch({ changes, annotations: fromOutside.of(true) })
}

function toDiagnostic({ from, to, message, path }: Fault, { doc }: EditorState): Diagnostic {
  const start = Math.min(from, doc.length)
  const text = path === '' ? message : `${path} ${message}`
  return { from: start, to: Math.max(start, Math.min(to, doc.length)), severity: 'error', message: text }
}

function reveal(view: EditorView, from: number, to: number): void {
  const [anchor, head] = [from, to].map((offset) => Math.min(offset, view.state.doc.length)) as [number, number]
  view.dispatch({ selection: { anchor, head }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
  view.focus()
}
