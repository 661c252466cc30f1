import DefaultTheme from 'vitepress/theme';
import Playground from './Playground.vue';
import RunQuery from './RunQuery.vue';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('Playground', Playground);
    app.component('RunQuery', RunQuery);
  },
};
