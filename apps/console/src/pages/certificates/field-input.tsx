import { PasswordInput, Textarea, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { ChoiceInput } from '../../parts/choice-input.tsx'
import type { CertificateField } from './vendor-forms.ts'

type Props = { field: CertificateField; value: string; onChange(value: string): void }

/** The input that a field's kind asks for. */
export function FieldInput({ field, value, onChange }: Props) {
  const { t } = useTranslation()
  const word = t(`certificateField.${field.label}`)
  const label =
    field.optional && typeof field.to === 'string' ? t('certificateField.optional', { name: word }) : word
  const shared = {
    label,
    value,
    required: !field.optional,
    withAsterisk: false,
    spellCheck: false,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
  }
  switch (field.kind) {
    case 'secret':
      return (
        <PasswordInput
          {...shared}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-hidden': true }}
        />
      )
    case 'long':
      return <Textarea {...shared} autosize minRows={3} maxRows={8} classNames={{ input: 'code' }} />
    case 'flag':
    case 'choice':
      return <ChoiceInput label={label} value={value} options={field.options} onChange={onChange} />
    default:
      return <TextInput {...shared} />
  }
}
