export default {
  cancel: 'Abbrechen',
  close: 'Schließen',
  copy: 'Kopieren',
  copied: 'Kopiert',
  notCopied: 'Der Browser erlaubt es nicht. Markieren Sie den Text, und kopieren Sie ihn dann.',
  save: 'Speichern',
  more: 'Mehr anzeigen',
  search: 'Suchen',
  never: 'nie',
  justNow: 'gerade eben',
  running: 'Bitte warten …',
  asOf: 'Stand {time}, aus der Kopie auf diesem Gerät',
  callsItself: 'jemand mit dem selbst gewählten Namen {name}',
  serverSays: '{name}, sagt der Kontoserver',
  sameName: 'ein anderer Kontakt hat diesen Namen',
  mixedScript: 'Buchstaben aus mehreren Alphabeten',
  unreachable: 'Der Daemon antwortet nicht. Starten Sie ihn und versuchen Sie es noch einmal.',
  backendAway:
    'Der Kontoserver antwortet nicht, deshalb wurde nichts geändert. Versuchen Sie es später noch einmal.',
  needsFull:
    'Dafür braucht es volle Rechte. Führen Sie diesen Befehl in einem Terminal aus; er öffnet ein neues Fenster mit vollen Rechten für 15 Minuten:',
  needsWrite:
    'Dieses Fenster darf nur lesen. Führen Sie diesen Befehl in einem Terminal aus; er öffnet ein neues Fenster, das auch ändern darf:',
  signInAgain:
    'Das geht nur in den ersten zwei Minuten eines Fensters. Führen Sie diesen Befehl in einem Terminal aus, und machen Sie es dann in dem Fenster, das sich öffnet:',
  tooMany: 'Zu viele Versuche. Versuchen Sie es in {seconds} s noch einmal.',
  conflict:
    'Eine andere Änderung kam zuvor. Sehen Sie sich die Seite neu an und versuchen Sie es noch einmal.',
  failed: 'Das hat nicht funktioniert: {message}',
  wordOf: 'Wort {number} von {count}',
  completions: 'Wörter, die so beginnen',
  noSuchWord: '„{word}“ steht nicht in der Wortliste. Lassen Sie sich das Wort noch einmal sagen.',
  unknownWord: '„{word}“ steht nicht in der Wortliste. Haben Sie eines dieser Wörter gehört?',
} as const
