import type { FieldName } from './fields.ts'

/** The id of a field's input and what is wrong with it. */
export type FieldProps = (field: FieldName) => { id: string; error?: string }
