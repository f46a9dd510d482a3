import type { CredentialField } from '@herald/channels/cards'
import { PasswordInput, Textarea, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { ChoiceInput } from '../../components/choice-input.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { FilePicker } from './file-picker.tsx'
import { isExtra } from './vendor-forms.ts'

type Props = { field: CredentialField; value: string; onChange(value: string): void }

export function FieldInput({ field, value, onChange }: Props) {
  const { t } = useTranslation()
  const name = useLabels().text(field.label)
  const label = field.optional && !isExtra(field.to) ? t('certificateField.optional', { name }) : name
  const shared = {
    label,
    value,
    required: !field.optional,
    withAsterisk: false,
    spellCheck: false,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
  }
  switch (field.kind) {
    case 'file':
      return (
        <>
          {field.file && <FilePicker file={field.file} onRead={onChange} />}
          <Textarea {...shared} autosize minRows={3} maxRows={8} classNames={{ input: 'code' }} />
        </>
      )
    case 'flag':
    case 'choice':
      return <ChoiceInput label={label} value={value} options={field.choices} onChange={onChange} />
    default:
      return field.secret ? (
        <PasswordInput
          {...shared}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-hidden': true }}
        />
      ) : (
        <TextInput {...shared} />
      )
  }
}
