import { Component, type ReactNode } from 'react'
import styles from './markdown.module.css'

/** Shows plain text when the parser fails, such as for nesting that is deeper than the stack. */
export class PlainOnFault extends Component<{ text: string; children: ReactNode }, { text?: string }> {
  override state: { text?: string } = {}

  static getDerivedStateFromError() {
    return { text: '' }
  }

  override render() {
    return this.state.text === undefined ? this.props.children : <div className={styles.raw}>{this.props.text}</div>
  }
}
